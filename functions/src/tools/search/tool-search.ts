import { LAYERS, ToolrackError } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { FairQueue } from '../../fair-queue.ts'
import { LongWork } from '../../loop-turn.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import type { SearchedLayer } from './layer-hits.ts'
import { LayerIndex } from './layer-index.ts'
import { rankedTools, type FoundTool, type Wanted } from './ranked-tools.ts'

/** Bytes of the indexes of user layers that an instance keeps. The indexes of the shared layers are kept besides. */
export const INDEX_BYTES_MAX = 64 * 1024 * 1024

/** The most searches of one user that may wait for their indexes. */
const WAITING_MAX = 100
const TOO_MANY = 'Too many of your searches wait for their index; send fewer at a time.'

type Known = { readonly snapshot: LayerSnapshot; readonly index: LayerIndex }

/**
 * Searches the tools that a view shows. The index of a layer is made when it is first searched, and from its last index when the
 * layer has changed.
 */
export class ToolSearch {
  readonly #shared = new Map<string, Known>()
  readonly #own: LRUCache<string, Known>
  readonly #shown = new WeakMap<CatalogView, WeakMap<LayerIndex, SearchedLayer['shown']>>()
  readonly #making = new Map<LayerSnapshot, Promise<LayerIndex>>()
  readonly #queue = new FairQueue(
    { places: 2, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )

  constructor(indexBytesMax: number = INDEX_BYTES_MAX) {
    this.#own = new LRUCache({ maxSize: indexBytesMax, sizeCalculation: ({ index }) => index.bytes + 1 })
  }

  /**
   * The tools of a user's view that fit the query, the best first, each with its twins. Reads the new definitions of a layer in
   * several turns.
   */
  async find(view: CatalogView, uid: string, query: string, wanted?: Wanted): Promise<readonly FoundTool[]> {
    const layers: SearchedLayer[] = []
    for (const layer of LAYERS) {
      const { snapshot } = view.unnarrowed.layers[layer]
      if (!snapshot || snapshot.byName.size === 0) continue
      const index = await this.#indexOf(snapshot, uid)
      layers.push({ index, shown: await this.#shownOf(view, index) })
    }
    return rankedTools(view, layers, query, wanted)
  }

  /** The bytes of the indexes that are kept at present. */
  get bytes(): number {
    const shared = [...this.#shared.values()].reduce((sum, { index }) => sum + index.bytes, 0)
    return shared + this.#own.calculatedSize
  }

  /** Which tools of the index the view shows. A view never changes, so they are looked up once. */
  async #shownOf(view: CatalogView, index: LayerIndex): Promise<SearchedLayer['shown']> {
    const known = this.#shown.get(view) ?? new WeakMap<LayerIndex, SearchedLayer['shown']>()
    this.#shown.set(view, known)
    const shown = known.get(index)
    if (shown) return shown
    const work = new LongWork()
    const flags = new Uint8Array(index.entries.length)
    let count = 0
    for (const [tool, entry] of index.entries.entries()) {
      if (work.isLong) await work.giveTurn()
      if (!view.shows(entry)) continue
      flags[tool] = 1
      count += 1
    }
    const made = { flags, count }
    known.set(index, made)
    return made
  }

  #indexOf(snapshot: LayerSnapshot, uid: string): LayerIndex | Promise<LayerIndex> {
    const { layer } = snapshot
    const isOwn = layer === 'user'
    const kept: { get(key: string): Known | undefined; set(key: string, known: Known): unknown } = isOwn
      ? this.#own
      : this.#shared
    const key = isOwn ? uid : layer
    const known = kept.get(key)
    if (known?.snapshot === snapshot) return known.index
    const making = this.#making.get(snapshot)
    if (making) return making
    // The shared layers are the service's own work. Each user's layer waits for that user's turn.
    const made = this.#queue
      .run(isOwn ? uid : null, async () => {
        const index = await LayerIndex.after(kept.get(key)?.index, snapshot, new LongWork())
        kept.set(key, { snapshot, index })
        return index
      })
      .finally(() => this.#making.delete(snapshot))
    this.#making.set(snapshot, made)
    return made
  }
}
