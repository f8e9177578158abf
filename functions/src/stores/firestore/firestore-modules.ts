import type { JsonObject } from '@toolrack/contract'
import type { DocumentReference } from 'firebase-admin/firestore'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type {
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import { foundDocument } from './found-document.ts'
import { blobsOf, modulesOf, versionsOf } from './layer-paths.ts'
import {
  blobDocument,
  LISTED_FIELDS,
  listedModuleDocument,
  moduleDocument,
  moduleVersionDocument,
} from './module-documents.ts'
import type { ListedModuleDocument } from './module-documents.ts'
import { layerState } from './stored-documents.ts'

export async function readModule(layer: DocumentReference, name: string): Promise<StoredModule | undefined> {
  const [state, found] = await layer.firestore.getAll(layer, modulesOf(layer).doc(name))
  const document = found && moduleDocument(foundDocument(found))
  if (!document) return undefined
  const [summary] = summaries(document, epochOf(state))
  return summary && { ...summary, report: JSON.parse(document.report) as JsonObject }
}

export async function readModules(
  layer: DocumentReference,
  { after, limit }: ModulePage,
): Promise<readonly ModuleSummary[]> {
  const byName = modulesOf(layer)
    .orderBy('listedAs')
    .select(...LISTED_FIELDS)
    .limit(limit)
  const [state, found] = await Promise.all([
    layer.get(),
    (after === undefined ? byName : byName.startAfter(after)).get(),
  ])
  const epoch = epochOf(state)
  return found.docs
    .flatMap((document) => listedModuleDocument(foundDocument(document)) ?? [])
    .flatMap((document) => summaries(document, epoch))
}

export async function readModuleVersions(
  layer: DocumentReference,
  name: string,
): Promise<readonly ModuleVersion[]> {
  const newestFirst = versionsOf(modulesOf(layer).doc(name)).orderBy('revision', 'desc')
  const [state, found] = await Promise.all([layer.get(), newestFirst.limit(VERSIONS_KEPT).get()])
  const epoch = epochOf(state)
  return found.docs
    .flatMap((version) => moduleVersionDocument(foundDocument(version)) ?? [])
    .map(({ revision, sha256, tools, at, by }) => ({
      revision: revisionText(revision, epoch),
      ...(sha256 !== null && { sha256 }),
      tools,
      at,
      by,
    }))
}

export async function readSource(layer: DocumentReference, sha256: string): Promise<string | undefined> {
  return blobDocument(foundDocument(await blobsOf(layer).doc(sha256).get()))?.source
}

/** The module in a document of ours; none in a tombstone. */
function summaries(document: ListedModuleDocument, epoch: string): ModuleSummary[] {
  const { name, sha256, tools, updatedAt, updatedBy } = document
  if (sha256 === null) return []
  return [{ name, sha256, tools, revision: revisionText(document.revision, epoch), updatedAt, updatedBy }]
}

function epochOf(state: Parameters<typeof foundDocument>[0] | undefined): string {
  return layerState(state && foundDocument(state))?.epoch ?? ''
}
