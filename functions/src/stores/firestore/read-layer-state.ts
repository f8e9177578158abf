import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import { totalsOf, type KeptName } from '../../catalog/definitions/layer-changes.ts'
import { newEpoch, newLayerState, type LayerState } from '../../catalog/definitions/layer-state.ts'
import { NO_TOTALS, replaced } from '../../catalog/definitions/layer-totals.ts'
import { itemsOf, modulesOf } from './layer-paths.ts'
import { foundDocument, keptName, layerState } from './stored-documents.ts'

/** A number above every revision of this service. A higher revision was written by another program, and is ignored. */
const REVISION_MAX = 2 ** 40

export type FoundState = {
  readonly state: LayerState
  /** The names whose documents do not have `sizes` yet. The write adds `sizes` to them. */
  readonly uncounted: readonly KeptName[]
}

/**
 * Reads the state of a layer from `document`, the layer's own document. If it has no totals, the content of the layer is counted.
 */
export async function readLayerState(
  transaction: Transaction,
  layer: DocumentReference,
  document: DocumentSnapshot | undefined,
): Promise<FoundState> {
  const state = layerState(document && foundDocument(document)) ?? (await lostState(transaction, layer))
  return state.totals ? { state, uncounted: [] } : countLayer(transaction, layer, state)
}

/**
 * The state of a layer whose own document does not exist or is not from this service. Either the layer was never written, or the
 * document was removed. Then `size` is still the number of definitions, and no revision is used a second time.
 */
async function lostState(transaction: Transaction, layer: DocumentReference): Promise<LayerState> {
  const items = itemsOf(layer)
  const newest = items
    .where('revision', '>', 0)
    .where('revision', '<', REVISION_MAX)
    .orderBy('revision', 'desc')
    .limit(1)
  const [last, live] = await Promise.all([
    transaction.get(newest),
    transaction.get(items.where('textHash', '>', '').count()),
  ])
  const revision = Math.ceil(Number(last.docs[0]?.get('revision') ?? 0))
  const size = live.data().count
  return revision === 0 && size === 0 ? newLayerState() : { epoch: newEpoch(), revision, size, floor: 0 }
}

/**
 * Counts the content of a layer that was written by a version that did not count, or whose document was removed. A global layer
 * with content is never counted, because one write may not be able to read so much. Such a layer has no limit of bytes, but only
 * administrators write it.
 */
async function countLayer(
  transaction: Transaction,
  layer: DocumentReference,
  state: LayerState,
): Promise<FoundState> {
  const isGlobal = layer.parent.parent === null
  if (isGlobal) return { state, uncounted: [] }
  const [items, modules] = await Promise.all([
    transaction.get(itemsOf(layer)),
    transaction.get(modulesOf(layer)),
  ])
  const uncounted: KeptName[] = []
  let totals = NO_TOTALS
  for (const [kind, { docs }] of [['definition', items] as const, ['module', modules] as const])
    for (const snapshot of docs) {
      const name = keptName(kind, snapshot)
      if (name) totals = replaced(totals, NO_TOTALS, totalsOf(name))
      if (name && snapshot.get('sizes') === undefined) uncounted.push(name)
    }
  return { state: { ...state, totals }, uncounted }
}
