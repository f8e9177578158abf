import type { JsonObject } from '@toolrack/contract'
import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore'
import { VERSIONS_KEPT, type DefinitionVersion } from '../../tools/definitions/definition-store.ts'
import type {
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import type { LayerRecords } from '../../tools/records/record-store.ts'
import { definitionVersion, moduleSummary, moduleVersion } from '../../tools/records/stored-records.ts'
import { blobsOf, itemsOf, modulesOf, versionsOf } from './layer-paths.ts'
import { blobDocument, foundDocument, layerState, LISTED_FIELDS } from './stored-documents.ts'
import { moduleDocument, moduleRecord, moduleVersionRecord, versionRecord } from './stored-documents.ts'

/** The records of one layer in Firestore. `FirestoreLayerSource` reads the list of its definitions. */
export class FirestoreRecords implements LayerRecords {
  readonly #layer: DocumentReference

  constructor(layer: DocumentReference) {
    this.#layer = layer
  }

  versions(name: string): Promise<readonly DefinitionVersion[]> {
    return this.#newestVersions(itemsOf(this.#layer).doc(name), versionRecord, definitionVersion)
  }

  async module(name: string): Promise<StoredModule | undefined> {
    const [state, found] = await this.#layer.firestore.getAll(this.#layer, modulesOf(this.#layer).doc(name))
    const document = found && moduleDocument(found)
    const summary = document && moduleSummary(document, epochIn(state))
    return summary && { ...summary, report: JSON.parse(document.report) as JsonObject }
  }

  async modules({ after, limit }: ModulePage): Promise<readonly ModuleSummary[]> {
    const fields = modulesOf(this.#layer).select(...LISTED_FIELDS)
    const byName = fields.orderBy('listedAs').limit(limit)
    const page = after === undefined ? byName : byName.startAfter(after)
    const [state, found] = await Promise.all([this.#layer.get(), page.get()])
    const records = found.docs.flatMap((document) => moduleRecord(document) ?? [])
    return records.flatMap((record) => moduleSummary(record, epochIn(state)) ?? [])
  }

  moduleVersions(name: string): Promise<readonly ModuleVersion[]> {
    return this.#newestVersions(modulesOf(this.#layer).doc(name), moduleVersionRecord, moduleVersion)
  }

  async source(sha256: string): Promise<string | undefined> {
    return blobDocument(await blobsOf(this.#layer).doc(sha256).get())?.source
  }

  async #newestVersions<Record, Version>(
    of: DocumentReference,
    recordIn: (document: DocumentSnapshot) => Record | undefined,
    versionOf: (record: Record, epoch: string) => Version,
  ): Promise<readonly Version[]> {
    const newest = versionsOf(of).orderBy('revision', 'desc').limit(VERSIONS_KEPT)
    const [state, found] = await Promise.all([this.#layer.get(), newest.get()])
    const records = found.docs.flatMap((document) => recordIn(document) ?? [])
    return records.map((record) => versionOf(record, epochIn(state)))
  }
}

function epochIn(state: DocumentSnapshot | undefined): string {
  return layerState(state && foundDocument(state))?.epoch ?? ''
}
