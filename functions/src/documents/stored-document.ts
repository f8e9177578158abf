import { EVERYBODY, type Collection, type Ref, type Sums, type Write } from './collection.ts'
import { fieldsIn, Kept, type Found, type Version } from './documents.ts'

/** A document as a database has it. Adapters write each of these fields as it is. */
export type StoredDocument = {
  readonly text: string
  readonly version: number
  readonly body?: string | undefined
  /** The JSON of the earlier versions, the newest first. */
  readonly past?: string | undefined
  /** The bytes of the document that count for the quota. */
  readonly bytes: number
  readonly expiresAtMs: number | null
  /** The value of the field by which the collection is indexed. Null if it has no index. */
  readonly place: string | number | null
}

/** Bytes that are counted for a document, or for a body that can be dropped, in addition to its texts. */
const RECORD_BYTES = 512
const BODY_RECORD_BYTES = 256

/**
 * The most bytes of the earlier versions of one document. With the document itself they fit into one document of Firestore (1
 * MiB).
 */
const PAST_BYTES_MAX = 512 * 1024

/** A key that can be the id of a document of Firestore. */
const KEY = /^(?!\.{1,2}$|__.*__$)[^/]+$/

/** The document as a database has it after a write of `fields`. */
export function stored(
  { to: { of }, fields = {}, body }: Write,
  before: StoredDocument | undefined,
): StoredDocument {
  const text = JSON.stringify(fields)
  const isSame = before?.text === text
  const version = (before?.version ?? 0) + (isSame ? 0 : 1)
  const past = isSame ? before.past : of.versions && before && pastText(of.versions - 1, before)
  const values = fields as Readonly<Record<string, string | number | undefined>>
  const place = (of.index === undefined ? null : values[of.index]) ?? null
  const expiresAtMs = of.expires?.(fields) ?? null
  const weight = of.weight?.(fields)
  return counted(of, { text, version, body, past: past || undefined, place, expiresAtMs }, weight)
}

/** The bytes that a body counts for a quota. */
export function bodyBytes(body: string): number {
  return BODY_RECORD_BYTES + Buffer.byteLength(body)
}

function counted(
  of: Collection,
  document: Omit<StoredDocument, 'bytes'>,
  weight: number | undefined,
): StoredDocument {
  if (weight !== undefined) return { ...document, bytes: weight }
  const { text, body, past = '' } = document
  const inBody = body === undefined ? 0 : bodyBytes(body)
  if (of.quota?.dropsOldest) return { ...document, bytes: inBody }
  const bytes = RECORD_BYTES + [text, body ?? '', past].reduce((sum, one) => sum + Buffer.byteLength(one), 0)
  return { ...document, bytes }
}

/** True if the quota must be checked before a write. A write that makes a document smaller is never refused. */
export function isCounted(
  of: Collection,
  before: StoredDocument | undefined,
  after: StoredDocument,
): boolean {
  const { count, bytes, dropsOldest } = of.quota ?? {}
  if (!before && count !== undefined) return true
  return bytes !== undefined && !dropsOldest && after.bytes > (before?.bytes ?? 0)
}

/**
 * The document as it is written. If the quota has no room for it, it is written without its earlier versions. Throws the error of
 * the quota if this is not enough.
 */
export function fitting(
  of: Collection,
  before: StoredDocument | undefined,
  after: StoredDocument,
  sums: Sums,
): StoredDocument {
  const { count = Infinity, refuse, dropsOldest, bytes: most = Infinity } = of.quota ?? {}
  const bytesMax = dropsOldest ? Infinity : most
  const others = { count: sums.count - (before ? 1 : 0), bytes: sums.bytes - (before?.bytes ?? 0) }
  if (!before && others.count >= count && refuse)
    throw refuse({ count: others.count + 1, bytes: sums.bytes + after.bytes })
  const fits = ({ bytes }: StoredDocument): boolean =>
    others.bytes + bytes <= bytesMax || bytes <= (before?.bytes ?? 0)
  if (fits(after)) return after
  const alone = counted(of, { ...after, past: undefined }, of.weight && after.bytes)
  if (!fits(alone) && refuse) throw refuse({ count: others.count + 1, bytes: others.bytes + alone.bytes })
  return alone
}

/** The document, or undefined if it has expired. */
export function unexpired<Stored extends StoredDocument>(
  document: Stored | undefined,
  nowMs: number,
): Stored | undefined {
  return document && document.expiresAtMs !== null && nowMs >= document.expiresAtMs ? undefined : document
}

/** The documents that `refs` name, as callers get them. */
export function foundOf<const Refs extends readonly Ref[]>(
  refs: Refs,
  documents: readonly (StoredDocument | undefined)[],
): Found<Refs> {
  return refs.map((ref, at) => {
    const document = documents[at]
    return document && new Kept(ref, document)
  }) as unknown as Found<Refs>
}

/** The index in `refs` of the document that is written. -1 if the document was not read. */
export function indexOf(refs: readonly Ref[], { to }: Write): number {
  return refs.findIndex(({ of, key }) => of === to.of && key === to.key)
}

type PastVersion = { readonly version: number; readonly text: string }

/** The earlier versions of a document after a write: the version that the write replaces, and the versions before it. */
function pastText(most: number, { text, version, past }: StoredDocument): string | undefined {
  const kept = [{ version, text }, ...pastVersions(past)].slice(0, most)
  for (;;) {
    const all = JSON.stringify(kept)
    if (Buffer.byteLength(all) <= PAST_BYTES_MAX) return kept.length === 0 ? undefined : all
    kept.pop()
  }
}

function pastVersions(past: string | undefined): readonly PastVersion[] {
  return past === undefined ? [] : (JSON.parse(past) as readonly PastVersion[])
}

/** All versions of a document, the newest first. */
export function versionsOf<Fields extends object>(
  of: Collection<Fields>,
  { version, fields }: Kept<Fields>,
  past: string | undefined,
): readonly Version<Fields>[] {
  const earlier = pastVersions(past).map((one) => ({ version: one.version, fields: fieldsIn(of, one.text) }))
  return [{ version, fields }, ...earlier]
}

/** Throws a TypeError if the collection has no documents of this kind of owner, or if the key is not safe in a path. */
export function checkRef(owner: string, { of, key }: Ref): void {
  const kind = owner === EVERYBODY ? 'everybody' : 'user'
  if (of.owner !== 'both' && of.owner !== kind) throw new TypeError(`no document of ${of.name} is of ${kind}`)
  if (!of.firestore && !KEY.test(key)) throw new TypeError(`a key of ${of.name} is not safe in a path`)
}
