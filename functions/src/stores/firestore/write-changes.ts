import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import type { StoredDefinition } from '../../catalog/views/layer-source.ts'
import type {
  KeptName,
  KeptVersion,
  LayerChanges,
  RecordChange,
  RecordContent,
} from '../../catalog/definitions/layer-changes.ts'
import type {
  DefinitionVersionRecord,
  ModuleVersionRecord,
} from '../../catalog/definitions/stored-records.ts'
import { blobsOf, recordOf, replacedOf, versionsOf } from './layer-paths.ts'
import { lockKey } from '../../catalog/definitions/package-lock.ts'
import { blobDocument, lockDocument, nameDocument, textHash } from './stored-documents.ts'
import type { BlobDocument, ItemDocument, ModuleDocument, VersionDocument } from './stored-documents.ts'

/** The author of a version that another program wrote. It cannot be a uid, because no uid contains parentheses or blanks. */
const ANOTHER_PROGRAM = '(another program)'

/** A document that another program wrote under the name of a definition, and the definition that it contains. */
export type ForeignDocument = {
  readonly snapshot: DocumentSnapshot
  readonly definition: StoredDefinition | undefined
}

type WrittenChanges = {
  readonly changes: LayerChanges
  /** The names whose documents do not have `sizes` yet. It is written even if nothing else in the document changes. */
  readonly uncounted: readonly KeptName[]
  readonly foreign: ReadonlyMap<string, ForeignDocument>
  readonly writeId: string
}

/**
 * Writes all changes of a transaction to a layer. First reads the sources of modules, because a transaction must not read after a
 * write.
 */
export async function writeChanges(
  transaction: Transaction,
  layer: DocumentReference,
  { changes, uncounted, foreign, writeId }: WrittenChanges,
): Promise<void> {
  const { records } = changes
  const blobs = await changedBlobs(transaction, layer, records)
  transaction.set(layer, changes.state, { merge: true })
  for (const change of records) {
    const { kind, name } = change.name
    const replaced = kind === 'definition' ? foreign.get(name) : undefined
    if (replaced && change.content?.kind === 'definition') {
      const { updatedAt } = change.content.record
      keepForeign(transaction, replaced, { revision: changes.state.revision - 1, at: updatedAt, writeId })
    }
    writeRecord(transaction, recordOf(layer, change.name), change, writeId)
  }
  const written = new Set(records.map(({ name }) => recordOf(layer, name).path))
  for (const name of uncounted) {
    const reference = recordOf(layer, name)
    if (!written.has(reference.path)) transaction.update(reference, nameDocument(name))
  }
  for (const [id, blob] of blobs) {
    const reference = blobsOf(layer).doc(id)
    if (blob.keptBy.length > 0) transaction.set(reference, blob)
    else transaction.delete(reference)
  }
}

/**
 * Copies a document of another program before this service replaces it. If it is a definition of the same name, this definition
 * is also kept as a version. The same transaction may already remove this version again.
 */
function keepForeign(
  transaction: Transaction,
  { snapshot, definition }: ForeignDocument,
  { revision, at: now, writeId }: Pick<VersionDocument, 'revision' | 'at' | 'writeId'>,
): void {
  transaction.set(replacedOf(snapshot.ref).doc(String(revision)), snapshot.data() ?? {})
  if (!definition) return
  const { text, digest } = definition
  const at = snapshot.updateTime?.toDate().toISOString() ?? now
  const version: VersionDocument = { revision, text, digest, at, by: ANOTHER_PROGRAM, writeId }
  transaction.set(versionsOf(snapshot.ref).doc(String(revision)), version)
}

function writeRecord(
  transaction: Transaction,
  reference: DocumentReference,
  { left, forgotten, content }: RecordChange,
  writeId: string,
): void {
  const versions = versionsOf(reference)
  if (content && content.kind !== 'grants') {
    const version: VersionDocument = { ...versionOf(content), writeId }
    transaction.set(versions.doc(String(version.revision)), version)
  }
  for (const { revision } of forgotten) transaction.delete(versions.doc(String(revision)))
  if (left.versions.length === 0) transaction.delete(reference)
  else if (content?.kind === 'grants')
    transaction.update(reference, { granted: content.granted, ...nameDocument(left) })
  else if (content) transaction.set(reference, documentOf(content, left))
  else transaction.update(reference, nameDocument(left))
}

/** Content that makes a version. */
type VersionContent = Exclude<RecordContent, { readonly kind: 'grants' }>

function documentOf(content: VersionContent, left: KeptName): ItemDocument | ModuleDocument {
  const versions = nameDocument(left)
  if (content.kind === 'definition')
    return { ...content.record, textHash: textHash(content.record.text), ...versions }
  const { record, report } = content
  return { ...record, ...(record.sha256 !== null && { listedAs: record.name }), report, ...versions }
}

function versionOf({ kind, record }: VersionContent): DefinitionVersionRecord | ModuleVersionRecord {
  const { revision, updatedAt: at, updatedBy: by } = record
  if (kind === 'module') {
    const { sha256, environment = null, tools } = record
    return { revision, sha256, environment, tools, at, by }
  }
  const { text, digest } = record
  return { revision, text, digest: text === null ? null : digest, at, by }
}

/**
 * The documents with contents and locks of modules that a transaction changes. If `keptBy` becomes empty, the document has to be
 * removed.
 */
async function changedBlobs(
  transaction: Transaction,
  layer: DocumentReference,
  records: readonly RecordChange[],
): Promise<ReadonlyMap<string, BlobDocument>> {
  const released = records.flatMap(({ name, forgotten }) =>
    forgotten.flatMap((version) =>
      idsOf(version).map((id) => ({ id, version: `${name.name}@${version.revision}` })),
    ),
  )
  const kept = records.flatMap(({ content }) => {
    if (content?.kind !== 'module') return []
    const { name, revision } = content.record
    const contents = [content.module, content.lock === undefined ? undefined : { lock: content.lock }]
    return idsOf(content.record).flatMap((id, index) => {
      const found = contents[index]
      return found ? { id, content: found, version: `${name}@${revision}` } : []
    })
  })
  const ids = new Set([...released, ...kept].map(({ id }) => id))
  const [first, ...rest] = [...ids].map((id) => blobsOf(layer).doc(id))
  const found = first ? await transaction.getAll(first, ...rest) : []
  const blobs = new Map<string, BlobDocument>()
  for (const snapshot of found) {
    const blob = blobDocument(snapshot) ?? lockDocument(snapshot)
    if (blob) blobs.set(snapshot.id, blob)
  }
  for (const { id, version } of released) {
    const blob = blobs.get(id)
    if (blob) blobs.set(id, { ...blob, keptBy: blob.keptBy.filter((other) => other !== version) })
  }
  for (const { id, content, version } of kept)
    blobs.set(id, { ...content, keptBy: [...(blobs.get(id)?.keptBy ?? []), version] })
  return blobs
}

/** The ids of the documents that a version of a module needs: first its content, and then its lock, if it has one. */
function idsOf({ sha256, environment }: Pick<KeptVersion, 'sha256' | 'environment'>): readonly string[] {
  if (!sha256) return []
  return environment ? [sha256, lockKey(sha256, environment)] : [sha256]
}
