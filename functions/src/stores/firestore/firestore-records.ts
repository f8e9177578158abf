import type { JsonObject } from '@toolrack/contract'
import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore'
import { VERSIONS_KEPT } from '../../catalog/definitions/definition-store.ts'
import type { LayerRecords } from '../../catalog/definitions/record-store.ts'
import { contentOf } from '../../catalog/definitions/module-content.ts'
import { definitionVersion, moduleSummary, moduleVersion } from '../../catalog/definitions/stored-records.ts'
import { blobsOf, itemsOf, modulesOf, versionsOf } from './layer-paths.ts'
import { lockKey, type PackageLock } from '../../catalog/definitions/package-lock.ts'
import { blobDocument, foundDocument, layerState, LISTED_FIELDS, lockDocument } from './stored-documents.ts'
import { moduleDocument, moduleRecord, moduleVersionRecord, versionRecord } from './stored-documents.ts'

/**
 * Reads the records of one layer in Firestore, except for the list of its present definitions, which `FirestoreLayerSource`
 * reads.
 */
export function firestoreRecords(layer: DocumentReference): LayerRecords {
  async function newestVersions<Record, Version>(
    of: DocumentReference,
    recordIn: (document: DocumentSnapshot) => Record | undefined,
    versionOf: (record: Record, epoch: string) => Version,
  ): Promise<readonly Version[]> {
    const newest = versionsOf(of).orderBy('revision', 'desc').limit(VERSIONS_KEPT)
    const [state, found] = await Promise.all([layer.get(), newest.get()])
    const records = found.docs.flatMap((document) => recordIn(document) ?? [])
    return records.map((record) => versionOf(record, epochIn(state)))
  }
  return {
    versions: (name) => newestVersions(itemsOf(layer).doc(name), versionRecord, definitionVersion),

    async module(name) {
      const [state, found] = await layer.firestore.getAll(layer, modulesOf(layer).doc(name))
      const document = found && moduleDocument(found)
      const summary = document && moduleSummary(document, epochIn(state))
      return summary && { ...summary, report: JSON.parse(document.report) as JsonObject }
    },

    async modules({ after, limit }) {
      const fields = modulesOf(layer).select(...LISTED_FIELDS)
      const byName = fields.orderBy('listedAs').limit(limit)
      const page = after === undefined ? byName : byName.startAfter(after)
      const [state, found] = await Promise.all([layer.get(), page.get()])
      const records = found.docs.flatMap((document) => moduleRecord(document) ?? [])
      return records.flatMap((record) => moduleSummary(record, epochIn(state)) ?? [])
    },

    moduleVersions: (name) => newestVersions(modulesOf(layer).doc(name), moduleVersionRecord, moduleVersion),

    async source(sha256) {
      const blob = blobDocument(await blobsOf(layer).doc(sha256).get())
      return blob && contentOf(blob)
    },

    async lock(sha256, environment) {
      const document = lockDocument(await blobsOf(layer).doc(lockKey(sha256, environment)).get())
      return document && (JSON.parse(document.lock) as PackageLock)
    },
  }
}

function epochIn(state: DocumentSnapshot | undefined): string {
  return layerState(state && foundDocument(state))?.epoch ?? ''
}
