import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore'
import { recordBytes } from '../../tools/definitions/layer-totals.ts'
import type { UnderName } from '../../tools/definitions/layer-totals.ts'
import { foundDocument } from './found-document.ts'
import { moduleDocument } from './module-documents.ts'
import type { ModuleDocument } from './module-documents.ts'
import { itemDocument } from './stored-documents.ts'
import type { ItemDocument, NameDocument } from './stored-documents.ts'

export type SizedVersion = {
  readonly revision: number
  readonly bytes: number
  /** Of a module's version that is no deletion. */
  readonly sha256?: string | null
}

/** What is kept under one name of a layer: its versions, the oldest first. */
export type KeptName = {
  readonly reference: DocumentReference
  readonly isDeleted: boolean
  readonly versions: readonly SizedVersion[]
}

/** What a name's document says for the store to find what may go. All but a present content may. */
export function nameDocument({ isDeleted, versions }: Omit<KeptName, 'reference'>): Required<NameDocument> {
  const [oldest] = isDeleted ? versions : versions.slice(0, -1)
  return {
    sizes: versions.map(({ bytes }) => bytes),
    oldest: oldest?.revision ?? null,
    deletedAt: isDeleted ? (versions.at(-1)?.revision ?? null) : null,
  }
}

/** The versions of an item. Of one that was written before they were counted, each counts as the present content. */
export function itemVersions({ versions, sizes, text }: ItemDocument): readonly SizedVersion[] {
  return versions.map((revision, index) => ({ revision, bytes: sizes?.[index] ?? recordBytes(text) }))
}

export function moduleVersions({ versions, sizes, report }: ModuleDocument): readonly SizedVersion[] {
  return versions.map(({ revision, sha256 }, index) => {
    return { revision, sha256, bytes: sizes?.[index] ?? recordBytes(report) }
  })
}

/** What lies under the name of an item, or of a module, for the totals. */
export function underItem(item: ItemDocument | undefined): UnderName {
  if (!item) return 'nothing'
  if (item.text === null) return 'deleted'
  return { own: recordBytes(item.text), version: itemVersions(item).at(-1)?.bytes ?? 0 }
}

export function underModule(module: ModuleDocument | undefined): UnderName {
  if (!module) return 'nothing'
  if (module.sha256 === null) return 'deleted'
  const own = recordBytes(module.report, JSON.stringify(module.tools))
  return { own, version: moduleVersions(module).at(-1)?.bytes ?? 0 }
}

/** What is kept in a document of ours; undefined for any other. */
export function keptItem(snapshot: DocumentSnapshot): KeptName | undefined {
  const item = itemDocument(foundDocument(snapshot))
  return item && { reference: snapshot.ref, isDeleted: item.text === null, versions: itemVersions(item) }
}

export function keptModule(snapshot: DocumentSnapshot): KeptName | undefined {
  const module = moduleDocument(foundDocument(snapshot))
  return (
    module && { reference: snapshot.ref, isDeleted: module.sha256 === null, versions: moduleVersions(module) }
  )
}
