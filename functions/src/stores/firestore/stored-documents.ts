import { hash } from 'node:crypto'
import type { DocumentData, DocumentSnapshot } from 'firebase-admin/firestore'
import {
  pastVersions,
  type KeptName,
  type KeptVersion,
  type RecordKind,
} from '../../catalog/definitions/layer-changes.ts'
import type { ModuleContent } from '../../catalog/definitions/module-content.ts'
import type { LayerState } from '../../catalog/definitions/layer-state.ts'
import { recordBytes } from '../../catalog/definitions/layer-totals.ts'
import { either, isNull, isText, listOf, object, type Test } from '../../value-shape.ts'
import type {
  DefinitionRecord,
  DefinitionVersionRecord,
  ModuleRecord,
  ModuleVersionRecord,
} from '../../catalog/definitions/stored-records.ts'

/** A document as it was read, by the client or by REST. */
export type FoundDocument = {
  readonly id: string
  /** Undefined if the document does not exist. In it, a value that JSON cannot represent is an object of a class. */
  readonly data: DocumentData | undefined
  /** A text that is different after every change of the document. The client and REST write it in different formats. */
  readonly updatedAt: string
}

/** The fields of a definition's or a module's document by which the store finds versions that may be removed. */
type NameDocument = {
  /**
   * The bytes of each version, in the order of `versions`. A document that was written before bytes were counted does not have
   * them.
   */
  readonly sizes?: readonly number[]
  /** The revision of the oldest version that may be removed, or null. */
  readonly oldest?: number | null
  /** The revision of the deletion, or null if the name is not deleted. */
  readonly deletedAt?: number | null
}

/** A definition that this service wrote. */
export type ItemDocument = DefinitionRecord &
  NameDocument & {
    /** The hash of `text`. If the text is changed by hand, the hash is wrong. Null in a tombstone. */
    readonly textHash: string | null
    /** The revisions of the kept versions, the oldest first. */
    readonly versions: readonly number[]
  }

/** A module. The tombstone of a deleted module keeps the module's versions. */
export type ModuleDocument = ModuleRecord &
  NameDocument & {
    /** The name, for lists, which are ordered by this field. A tombstone does not have this field, so lists leave it out. */
    readonly listedAs?: string
    /** The report as JSON. */
    readonly report: string
    /** The kept versions, the oldest first. */
    readonly versions: readonly Pick<KeptVersion, 'revision' | 'sha256' | 'environment'>[]
  }

/** The fields of a document that a `ModuleRecord` needs, and `listedAs`. */
export const LISTED_FIELDS = [
  'name',
  'listedAs',
  'sha256',
  'tools',
  'revision',
  'updatedAt',
  'updatedBy',
  'environment',
  'granted',
]

/**
 * A version of a definition or of a module. `writeId` is the id of the write that made it. If a commit is not answered, the write
 * searches for its own id to find out whether the commit was done.
 */
export type VersionDocument = (DefinitionVersionRecord | ModuleVersionRecord) & { readonly writeId: string }

/**
 * The content of a module, and in `keptBy` the versions that have it. When the last of these versions is removed, the content is
 * removed too. Several files are stored as a list. A map by path is not possible, because a dot in the name of a field has a
 * special meaning. One JSON text could exceed the 1 MB of a document. The lock of a module's packages is kept in the same way.
 */
export type BlobDocument = (ModuleContent | LockContent) & { readonly keptBy: readonly string[] }

/** The `lockText` of a lock. The id of its document is its `lockKey`. */
export type LockContent = { readonly lock: string }

export function foundDocument(snapshot: DocumentSnapshot): FoundDocument {
  const { id, updateTime } = snapshot
  const updatedAt = updateTime ? `${updateTime.seconds}.${updateTime.nanoseconds}` : ''
  return { id, data: snapshot.data(), updatedAt }
}

const isTextOrNull = either(isText, isNull)
const UPDATED = { revision: isCount, updatedAt: isText, updatedBy: isText }
const LISTED = { ...UPDATED, sha256: isTextOrNull, tools: listOf(isText) }
const VERSION = { revision: isCount, at: isText, by: isText }

const isItem = object({ ...UPDATED, text: isTextOrNull, digest: isText, versions: listOf(isCount) })
const isModuleVersion = object({ revision: isCount, sha256: isTextOrNull })
const isModule = object({ ...LISTED, report: isText, versions: listOf(isModuleVersion) })
const isState = object({ epoch: isEpoch, revision: isCount, size: isCount })
const isTotals = object({ bytes: isCount, presentBytes: isCount, deleted: isCount })

/** Reads the state from the layer's own document. Other programs may have added fields to it. */
export function layerState(document: FoundDocument | undefined): LayerState | undefined {
  const data = document?.data
  if (!isState(data)) return undefined
  const { epoch, revision, size, totals, floor } = data as LayerState
  return {
    epoch,
    revision,
    size,
    floor: isCount(floor) ? floor : 0,
    totals: isTotals(totals) ? totals : undefined,
  }
}

/** Reads an item. Undefined for a document that another program wrote, or that was changed by hand. */
export function itemDocument({ id, data }: FoundDocument): ItemDocument | undefined {
  const item = isItem(data) ? (data as ItemDocument) : undefined
  return item?.name === id && item.textHash === textHash(item.text) ? item : undefined
}

export const moduleDocument = reader<ModuleDocument>(isModule, ({ name }) => name)
/** Reads a document with only the `LISTED_FIELDS`. */
export const moduleRecord = reader<ModuleRecord>(object(LISTED), ({ name }) => name)
export const versionRecord = reader<DefinitionVersionRecord>(
  object({ ...VERSION, text: isTextOrNull, digest: isTextOrNull }),
)
export const moduleVersionRecord = reader<ModuleVersionRecord>(
  object({ ...VERSION, sha256: isTextOrNull, tools: listOf(isText) }),
)
const isFile = object({ path: isText, content: isText })
export const lockDocument = reader<LockContent & Pick<BlobDocument, 'keptBy'>>(
  object({ lock: isText, keptBy: listOf(isText) }),
)
export const blobDocument = reader<ModuleContent & Pick<BlobDocument, 'keptBy'>>(
  either(
    object({ source: isText, keptBy: listOf(isText) }),
    object({ files: listOf(isFile), keptBy: listOf(isText) }),
  ),
)

/**
 * Makes a function that reads one kind of document. `idOf` returns the id that the document must have. For a document of another
 * program, the function returns undefined.
 */
function reader<T>(isValid: Test<object>, idOf?: (document: T) => string) {
  return (snapshot: DocumentSnapshot): T | undefined => {
    const data = snapshot.data()
    return isValid(data) && (!idOf || idOf(data as T) === snapshot.id) ? (data as T) : undefined
  }
}

/** Reads the versions of a definition from its document. A version without a size counts the bytes of the present content. */
export function keptItem({ name, text, versions, sizes }: ItemDocument): KeptName {
  const ownBytes = recordBytes(text)
  const sized = versions.map((revision, index) => ({ revision, bytes: sizes?.[index] ?? ownBytes }))
  return { kind: 'definition', name, isDeleted: text === null, ownBytes, versions: sized }
}

export function keptModule(module: ModuleDocument): KeptName {
  const { name, sha256, tools, report, granted = null, versions, sizes } = module
  const isDeleted = sha256 === null && granted === null
  const ownBytes =
    sha256 === null ? recordBytes(granted) : recordBytes(report, JSON.stringify(tools), granted)
  const bytes = recordBytes(report)
  const sized = versions.map((version, index) => ({ ...version, bytes: sizes?.[index] ?? bytes }))
  return { kind: 'module', name, isDeleted, ownBytes, versions: sized }
}

/**
 * Reads the name and its versions from the document of a definition or of a module. Undefined for a document of another program.
 */
export function keptName(kind: RecordKind, snapshot: DocumentSnapshot): KeptName | undefined {
  if (kind === 'definition') {
    const item = itemDocument(foundDocument(snapshot))
    return item && keptItem(item)
  }
  const module = moduleDocument(snapshot)
  return module && keptModule(module)
}

/** The fields with which a document describes the versions of its name. */
export function nameDocument(name: KeptName): Required<NameDocument> & Pick<DocumentData, 'versions'> {
  const { kind, isDeleted, versions } = name
  return {
    versions: versions.map(({ revision, sha256 = null, environment }) =>
      kind === 'module' ? { revision, sha256, ...(environment && { environment }) } : revision,
    ),
    sizes: versions.map(({ bytes }) => bytes),
    oldest: pastVersions(name)[0]?.revision ?? null,
    deletedAt: isDeleted ? (versions.at(-1)?.revision ?? null) : null,
  }
}

export function textHash(text: string | null): string | null {
  return text === null ? null : hash('sha256', text, 'base64url')
}

function isEpoch(value: unknown): value is string {
  return isText(value) && /^[0-9a-f]{12}$/.test(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
