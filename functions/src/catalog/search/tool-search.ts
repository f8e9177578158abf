import { LAYERS, ToolrackError } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { FairQueue } from '../../fair-queue.ts'
import { Turns, type Pieces } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { SharedWork } from '../../shared-work.ts'
import type { CatalogView } from '../views/catalog-view.ts'
import type { LayerSnapshot } from '../views/layer-snapshot.ts'
import type { SearchedLayer } from './layer-hits.ts'
import { LayerIndex } from './layer-index.ts'
import { rankedTools, type FoundTool, type Wanted } from './ranked-tools.ts'

/** The most bytes that an instance keeps for the indexes of user layers. The indexes of the shared layers do not count. */
export const INDEX_BYTES_MAX = 64 * 1024 * 1024

/**
 * How many indexes are made at the same time. Each lets other work run in between. A new index may take a hundred MB until it is
 * done.
 */
const INDEXES_AT_ONCE = 16
/** How many searches of one user may wait for an index. A longer queue would only delay this user's own work. */
const WAITING_MAX = 100
const TOO_MANY = 'Too many of your searches wait for their index; send fewer at a time.'

type Known = { readonly snapshot: LayerSnapshot; readonly index: LayerIndex }

/**
 * Searches the tools that a view shows. The index of a layer is made at the first search in the layer. After a change of the
 * layer, the next index is made from the last one.
 */
export class ToolSearch {
  readonly #shared = new Map<string, Known>()
  readonly #own: LRUCache<string, Known>
  readonly #shown = new WeakMap<CatalogView, WeakMap<LayerIndex, SearchedLayer['shown']>>()
  readonly #making = new SharedWork<LayerSnapshot, LayerIndex>()
  readonly #queue = new FairQueue(
    { places: INDEXES_AT_ONCE, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )

  constructor(indexBytesMax: number = INDEX_BYTES_MAX) {
    this.#own = new LRUCache({ maxSize: indexBytesMax, sizeCalculation: ({ index }) => index.bytes + 1 })
  }

  /**
   * The tools of a user's view that fit the query, the best first, each with its twins. Lets other requests run while it reads
   * the new definitions of a layer. If the signal of `wanted` is aborted, it rejects with the signal's reason.
   */
  async find(
    view: CatalogView,
    uid: string,
    query: string,
    wanted: Wanted & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly FoundTool[]> {
    const turns = new Turns(wanted.signal)
    const layers: SearchedLayer[] = []
    for (const layer of LAYERS) {
      const { snapshot } = view.withoutGrant.layers[layer]
      if (!snapshot || snapshot.byName.size === 0) continue
      const index = await this.#indexOf(snapshot, uid, wanted.signal)
      layers.push({ index, shown: await turns.run(this.#shownOf(view, index)) })
    }
    return turns.run(rankedTools(view, layers, query, wanted))
  }

  /** The bytes of the indexes that are kept at present. */
  get bytes(): number {
    const shared = [...this.#shared.values()].reduce((sum, { index }) => sum + index.bytes, 0)
    return shared + this.#own.calculatedSize
  }

  /** Finds out which tools of the index the view shows. The answer is kept for later searches, because a view never changes. */
  *#shownOf(view: CatalogView, index: LayerIndex): Pieces<SearchedLayer['shown']> {
    const known = this.#shown.get(view) ?? new WeakMap<LayerIndex, SearchedLayer['shown']>()
    this.#shown.set(view, known)
    const shown = known.get(index)
    if (shown) return shown
    const flags = new Uint8Array(index.entries.length)
    let count = 0
    for (const [tool, entry] of index.entries.entries()) {
      yield
      if (!view.shows(entry)) continue
      flags[tool] = 1
      count += 1
    }
    const made = { flags, count }
    known.set(index, made)
    return made
  }

  #indexOf(
    snapshot: LayerSnapshot,
    uid: string,
    signal: AbortSignal | undefined,
  ): LayerIndex | Promise<LayerIndex> {
    const { layer } = snapshot
    const isOwn = layer === 'user'
    const kept: { get(key: string): Known | undefined; set(key: string, known: Known): unknown } = isOwn
      ? this.#own
      : this.#shared
    const key = isOwn ? uid : layer
    const known = kept.get(key)
    if (known?.snapshot === snapshot) return known.index
    return this.#making.run(snapshot, signal, (allLeft) => {
      async function make(): Promise<LayerIndex> {
        const index = await new Turns(allLeft).run(LayerIndex.after(kept.get(key)?.index, snapshot))
        kept.set(key, { snapshot, index })
        return index
      }
      // Making the index of a shared layer is work of the service itself. Making the index of a user's layer waits for that
      // user's turn.
      if (isOwn) return this.#queue.run(uid, make, allLeft)
      return asPart(`the search index of the ${layer} layer`, () => this.#queue.run(null, make, allLeft))
    })
  }
}
