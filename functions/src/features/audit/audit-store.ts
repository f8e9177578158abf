import type { ChainHead, ChainName, SealedRecord } from './record.ts'

/** Selects records. `since` (inclusive) and `until` (exclusive) are RFC 3339, UTC, with milliseconds. */
export type AuditQuery = {
  readonly uid?: string | undefined
  readonly tool?: string | undefined
  readonly outcome?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit: number
  /** The `before` in the answer with the page before this one. This page continues from there. */
  readonly before?: string | undefined
}

/** Texts of records, the newest first. `before` is for the query of the next page. It is undefined after the last page. */
export type AuditPage = { readonly texts: readonly string[]; readonly before: string | undefined }

/** Some records of a chain, by their sorted sequence numbers. */
export type RecordPlaces = ChainName & { readonly seqs: readonly number[] }

/** Keeps records. Only retention and erasure change them. Every store passes `test/support/audit.contract.ts`. */
export type AuditStore = {
  /**
   * The name of the process that writes to this store. Its chains have this name. No two processes that run at the same time have
   * the same name.
   */
  readonly instance: string
  /**
   * True if `append` writes before it returns. Then each call waits until its record is written, because this takes almost no
   * time.
   */
  readonly isImmediate: boolean
  /** The last record of the newest chain of this instance. */
  readonly head: () => Promise<ChainHead | undefined>
  /**
   * Writes all records in one commit, or none. Rejects if the store already has a record with the same chain and sequence number.
   */
  readonly append: (records: readonly SealedRecord[]) => Promise<void>
  readonly page: (query: AuditQuery) => Promise<AuditPage>
  /** The days that have records, the oldest first: all days, or only those before `before`. */
  readonly days: (before?: string) => Promise<readonly string[]>
  /** How many records there are of a day, or of all days. */
  readonly count: (day?: string) => Promise<number>
  /** The chains of a day with their last records, sorted by instance. */
  readonly chains: (day: string) => Promise<readonly ChainHead[]>
  /** The texts of a chain, in its order: at most `limit`, beginning after the record `seq`. */
  readonly texts: (chain: ChainName, seq: number, limit: number) => Promise<readonly string[]>
  /** The signed manifests, the oldest first. */
  readonly manifests: () => Promise<readonly string[]>
  /** Keeps the manifest of a day. If the day already has one, that one stays. */
  readonly keepManifest: (day: string, text: string) => Promise<void>
  /** The user's records, except those of kind erasure and retention, as chains and sequence numbers. */
  readonly placesOf: (uid: string) => Promise<readonly RecordPlaces[]>
  /** Removes the content of these records, and keeps their hashes. */
  readonly erase: (places: RecordPlaces) => Promise<void>
  /** The texts of all records of kind erasure. */
  readonly erasures: () => Promise<readonly string[]>
  /** Removes the records of all days before `day`. Manifests stay. If the removal is interrupted, the next one continues. */
  readonly removeBefore: (day: string) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * How many records are read for one page, if the query has `tool` or `outcome`. The page may then have fewer records than its
 * limit. The next page continues after the records that were read.
 */
export const RECORDS_READ_MAX = 5_000

/** A text for the position of a record among all records. The texts sort by time. */
export function placeOf({ at, instance, seq }: Pick<SealedRecord, 'at' | 'instance' | 'seq'>): string {
  return `${at}/${instance}/${String(seq).padStart(10, '0')}`
}

const PLACE = /^\d{4}-\d\d-\d\dT[\d:.]{12}Z\/[\w-]{1,64}\/\d{10}$/

export function isPlace(text: string): boolean {
  return PLACE.test(text)
}

/** The position of an erased record. It has only the day of the record, because the time is erased too. */
export function erasedPlace({ day, instance, seq }: Pick<SealedRecord, 'day' | 'instance' | 'seq'>): string {
  return placeOf({ at: `${day}T00:00:00.000Z`, instance, seq })
}

/** The fields that a store keeps beside the text of an erased record. */
export const ERASED_FIELDS = { kind: 'erased', uid: '', tool: null, outcome: '' } as const

/**
 * Adds a member to the text of a record, so that the verifier refuses the record. A store does this if a field that it keeps
 * beside the text was changed.
 */
export function markedText(text: string): string {
  return text.replace('{', '{"a column of this record was changed":true,')
}

/** The text of a record, with the fields by which a page selects records. */
export type PlacedText = {
  readonly place: string
  readonly tool: string | null
  readonly outcome: string
  readonly text: string
}

/** Makes a page of those rows that have the asked tool and outcome. `isMore` says that the store has more rows than these. */
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
