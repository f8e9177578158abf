import type { ChainHead, ChainName, SealedRecord } from './record.ts'

/** Selects records. `since` (inclusive) and `until` (exclusive) are RFC 3339, UTC, with milliseconds. */
export type AuditQuery = {
  readonly uid?: string | undefined
  readonly tool?: string | undefined
  readonly outcome?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit: number
  /** The `before` of an earlier page: this page goes on after it. */
  readonly before?: string | undefined
}

/** Texts of records, the newest first. `before` is the place of the next page; undefined after the last page. */
export type AuditPage = { readonly texts: readonly string[]; readonly before: string | undefined }

/** Some records of a chain. `seqs` are sorted. */
export type RecordPlaces = ChainName & { readonly seqs: readonly number[] }

/** Keeps records. Only retention and erasure change them. Every store passes `test/support/audit.contract.ts`. */
export type AuditStore = {
  /** Names the chains of this store's writer. No two writers that run at the same time have the same name. */
  readonly instance: string
  /** True if `append` writes before it returns. Then calls wait for their record, because this costs almost nothing. */
  readonly isImmediate: boolean
  /** The last record of the newest chain of this instance. */
  readonly head: () => Promise<ChainHead | undefined>
  /** Writes all records in one commit, or none. Rejects if a record with the same place exists. */
  readonly append: (records: readonly SealedRecord[]) => Promise<void>
  readonly page: (query: AuditQuery) => Promise<AuditPage>
  /** The days that have records, the oldest first: all days, or only those before `before`. */
  readonly days: (before?: string) => Promise<readonly string[]>
  /** How many records there are of a day, or of all days. */
  readonly count: (day?: string) => Promise<number>
  /** The chains of a day with their last records, sorted by instance. */
  readonly chains: (day: string) => Promise<readonly ChainHead[]>
  /** Up to `limit` texts of a chain after `seq`, in the order of the chain. */
  readonly texts: (chain: ChainName, seq: number, limit: number) => Promise<readonly string[]>
  /** The signed manifests, the oldest first. */
  readonly manifests: () => Promise<readonly string[]>
  /** Keeps the manifest of a day. If the day already has one, that one stays. */
  readonly keepManifest: (day: string, text: string) => Promise<void>
  /** The places of a user's records, without those of kind erasure and retention. */
  readonly placesOf: (uid: string) => Promise<readonly RecordPlaces[]>
  /** Removes the content of the records at these places, and keeps their hashes. */
  readonly erase: (places: RecordPlaces) => Promise<void>
  /** The texts of all records of kind erasure. */
  readonly erasures: () => Promise<readonly string[]>
  /** Removes the records of all days before `day`. Manifests stay. If the removal is interrupted, the next one continues. */
  readonly removeBefore: (day: string) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * How many records a page searches for `tool` and `outcome`. If it finds fewer than its limit, the next page goes on after them.
 */
export const RECORDS_READ_MAX = 5_000

/** The place of a record among all records, by time. */
export function placeOf({ at, instance, seq }: Pick<SealedRecord, 'at' | 'instance' | 'seq'>): string {
  return `${at}/${instance}/${String(seq).padStart(10, '0')}`
}

const PLACE = /^\d{4}-\d\d-\d\dT[\d:.]{12}Z\/[\w-]{1,64}\/\d{10}$/

export function isPlace(text: string): boolean {
  return PLACE.test(text)
}

/** The place of an erased record. It has only the day, because the time is erased too. */
export function erasedPlace({ day, instance, seq }: Pick<SealedRecord, 'day' | 'instance' | 'seq'>): string {
  return placeOf({ at: `${day}T00:00:00.000Z`, instance, seq })
}

/** The fields that a store keeps beside the text of an erased record. */
export const ERASED_FIELDS = { kind: 'erased', uid: '', tool: null, outcome: '' } as const

/**
 * The text with a member that the verifier refuses. A store returns it for a record if a field beside the record's text was
 * changed.
 */
export function markedText(text: string): string {
  return text.replace('{', '{"a column of this record was changed":true,')
}

/** A record with the fields by which a page selects it. */
export type PlacedText = {
  readonly place: string
  readonly tool: string | null
  readonly outcome: string
  readonly text: string
}

/** The rows that have the tool and the outcome. `isMore` says that there are more rows than these. */
export function pageOf(
  rows: readonly PlacedText[],
  { tool, outcome, limit }: Pick<AuditQuery, 'tool' | 'outcome' | 'limit'>,
  isMore: boolean,
): AuditPage {
  const texts: string[] = []
  for (const [index, row] of rows.entries()) {
    if ((tool ?? row.tool) !== row.tool || (outcome ?? row.outcome) !== row.outcome) continue
    texts.push(row.text)
    if (texts.length === limit)
      return { texts, before: index + 1 < rows.length || isMore ? row.place : undefined }
  }
  return { texts, before: isMore ? rows.at(-1)?.place : undefined }
}
