import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import { afterChange, NO_TOTALS } from '../../tools/definitions/layer-totals.ts'
import type { LayerTotals, UnderName } from '../../tools/definitions/layer-totals.ts'
import { foundDocument } from './found-document.ts'
import { keptItem, keptModule, underItem, underModule } from './kept-names.ts'
import type { KeptName } from './kept-names.ts'
import { itemsOf, modulesOf } from './layer-paths.ts'
import { moduleDocument } from './module-documents.ts'
import { itemDocument } from './stored-documents.ts'

export type CountedLayer = {
  readonly totals: LayerTotals
  /** Names whose documents do not say yet what may go. */
  readonly untold: readonly KeptName[]
}

/**
 * Counts a layer by everything that lies there: once, where it was written before layers were counted, or where its document is
 * lost. Undefined for a global layer that holds something: it may hold too much to be read by one write, and only administrators
 * write it.
 */
export async function countLayer(
  transaction: Transaction,
  layer: DocumentReference,
  isEmpty: boolean,
): Promise<CountedLayer | undefined> {
  if (isEmpty) return { totals: NO_TOTALS, untold: [] }
  const isGlobal = layer.parent.parent === null
  if (isGlobal) return undefined
  const [items, modules] = await Promise.all([
    transaction.get(itemsOf(layer)),
    transaction.get(modulesOf(layer)),
  ])
  const names = [
    ...items.docs.flatMap((found) =>
      named(keptItem(found), underItem(itemDocument(foundDocument(found))), found),
    ),
    ...modules.docs.flatMap((found) =>
      named(keptModule(found), underModule(moduleDocument(foundDocument(found))), found),
    ),
  ]
  const totals = names.reduce((sum, { kept, under }) => {
    const { bytes, presentBytes, deleted } = afterChange(sum, 'nothing', under)
    const past = kept.versions.slice(0, -1).reduce((all, version) => all + version.bytes, 0)
    return { bytes: bytes + past, presentBytes, deleted }
  }, NO_TOTALS)
  return { totals, untold: names.flatMap(({ kept, isTold }) => (isTold ? [] : kept)) }
}

function named(kept: KeptName | undefined, under: UnderName, found: DocumentSnapshot) {
  if (!kept || under === 'nothing') return []
  return [{ kept, under, isTold: found.get('sizes') !== undefined }]
}
