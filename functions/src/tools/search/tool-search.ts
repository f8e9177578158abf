import { LAYERS, ToolrackError } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { FairQueue } from '../../fair-queue.ts'
import { Turns } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { SharedWork } from '../../shared-work.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import { LayerIndex } from './layer-index.ts'
import { rankedEntries } from './ranked-entries.ts'

/** Bytes of the indexes of user layers that an instance keeps. The indexes of the shared layers are kept besides. */
export const INDEX_BYTES_MAX = 64 * 1024 * 1024

/** The indexes that are made at the same time, each in turns. A new index may take a hundred MB until it is done. */
const INDEXES_AT_ONCE = 16
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
  readonly #making = new SharedWork<LayerSnapshot, LayerIndex>()
  readonly #queue = new FairQueue(
    { places: INDEXES_AT_ONCE, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )

  constructor(indexBytesMax: number = INDEX_BYTES_MAX) {
    this.#own = new LRUCache({ maxSize: indexBytesMax, sizeCalculation: ({ index }) => index.bytes + 1 })
  }

  /**
   * The tools of a user's view that fit the query, the best first. Reads the new definitions of a layer in several turns. `signal` is
   * aborted when the caller has left.
   */
  async find(
    view: CatalogView,
    uid: string,
    query: string,
    limit?: number,
    signal?: AbortSignal,
  ): Promise<readonly CatalogEntry[]> {
    const indexes: LayerIndex[] = []
    for (const layer of LAYERS) {
      const { snapshot } = view.unnarrowed.layers[layer]
      if (snapshot && snapshot.byName.size > 0) indexes.push(await this.#indexOf(snapshot, uid, signal))
    }
    return new Turns(signal).run(rankedEntries(view, indexes, query, limit))
  }

  /** The bytes of the indexes that are kept at present. */
  get bytes(): number {
    const shared = [...this.#shared.values()].reduce((sum, { index }) => sum + index.bytes, 0)
    return shared + this.#own.calculatedSize
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
      // The shared layers are the service's own work. Each user's layer waits for that user's turn.
      if (isOwn) return this.#queue.run(uid, make, allLeft)
      return asPart(`the search index of the ${layer} layer`, () => this.#queue.run(null, make, allLeft))
    })
  }
}
