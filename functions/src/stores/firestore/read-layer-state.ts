import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import { totalsOf, type KeptName } from '../../tools/records/layer-changes.ts'
import { newEpoch, newLayerState, type LayerState } from '../../tools/records/layer-state.ts'
import { NO_TOTALS, replaced } from '../../tools/records/layer-totals.ts'
import { itemsOf, modulesOf } from './layer-paths.ts'
import {
  foundDocument,
  itemDocument,
  keptItem,
  keptModule,
  layerState,
  moduleDocument,
} from './stored-documents.ts'

/** Above every revision of ours. What other programs call a revision cannot push the count beyond what numbers can hold. */
const REVISION_MAX = 2 ** 40

export type FoundState = {
  readonly state: LayerState
  /** Names whose documents have no counts yet. They are written again with their counts. */
  readonly uncounted: readonly KeptName[]
}

/** The state of a layer from its own document, which the transaction has read. A layer that was never counted is counted. */
export async function readLayerState(
  transaction: Transaction,
  layer: DocumentReference,
  document: DocumentSnapshot | undefined,
): Promise<FoundState> {
  const state = layerState(document && foundDocument(document)) ?? (await lostState(transaction, layer))
  return state.totals ? { state, uncounted: [] } : countLayer(transaction, layer, state)
}

/**
 * A layer that has no document of ours: it was never written, or somebody has removed the document. What it holds then
 * still counts, and its revisions are not given a second time.
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
 * Counts everything in a layer: once, if the layer was written before layers were counted, or if its document is
 * lost. A global layer that holds something stays uncounted: it may hold too much for one write to read, and only administrators
 * write it.
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
  const found = [
    ...items.docs.map((snapshot) => ({ snapshot, name: keptItemIn(snapshot) })),
    ...modules.docs.map((snapshot) => ({ snapshot, name: keptModuleIn(snapshot) })),
  ]
  const totals = found.reduce(
    (sum, { name }) => (name ? replaced(sum, NO_TOTALS, totalsOf(name)) : sum),
    NO_TOTALS,
  )
  const uncounted = found.flatMap(({ snapshot, name }) =>
    name && snapshot.get('sizes') === undefined ? name : [],
  )
  return { state: { ...state, totals }, uncounted }
}

/** The name in a document of ours, or undefined. */
export function keptItemIn(snapshot: DocumentSnapshot): KeptName | undefined {
  const item = itemDocument(foundDocument(snapshot))
  return item && keptItem(item)
}

export function keptModuleIn(snapshot: DocumentSnapshot): KeptName | undefined {
  const module = moduleDocument(foundDocument(snapshot))
  return module && keptModule(module)
}
