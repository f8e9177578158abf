import { LRUCache } from 'lru-cache'
import type { LayerSource } from './layer-source.ts'
import type { StoredLayer } from './stored-layer.ts'
import { CatalogView } from './catalog-view.ts'
import { LayerCache } from './layer-cache.ts'
import type { LayerReport } from './layer-cache.ts'

/** How many users' layers an instance keeps in memory. */
const USER_LAYERS_MAX = 1_000

export type CatalogSources = {
  readonly file: LayerSource
  readonly global: LayerSource
  readonly user: (uid: string) => LayerSource
}

/** Every layer in memory, merged for whoever asks. */
export class Catalog {
  readonly #global: LayerCache
  readonly #file: LayerCache
  readonly #users: LRUCache<string, LayerCache>
  readonly #newUserLayer: (uid: string) => LayerCache

  constructor(sources: CatalogSources, options: { now?: () => number; report: LayerReport }) {
    const layerOptions = { now: options.now ?? (() => performance.now()), report: options.report }
    this.#global = new LayerCache('global', sources.global, layerOptions)
    this.#file = new LayerCache('file', sources.file, layerOptions)
    this.#users = new LRUCache({ max: USER_LAYERS_MAX })
    this.#newUserLayer = (uid) => new LayerCache('user', sources.user(uid), layerOptions)
  }

  /** What one user's catalog is made of now. Reads what is due, all layers at once; never rejects. */
  async view(uid: string): Promise<CatalogView> {
    const user = this.#userLayer(uid)
    if (!(user.isChecked && this.#global.isChecked && this.#file.isChecked)) {
      await Promise.all([user.current(), this.#global.current(), this.#file.current()])
    }
    return new CatalogView({ user: user.state, global: this.#global.state, file: this.#file.state })
  }

  /** The global and the file layer as they were last seen, without a read. */
  get shared(): CatalogView {
    return new CatalogView({ user: { status: 'error' }, global: this.#global.state, file: this.#file.state })
  }

  /** To be called after a write: the writer's next list shows it. */
  markWritten(layer: StoredLayer): void {
    if (layer.kind === 'global') this.#global.markWritten()
    else this.#users.get(layer.uid)?.markWritten()
  }

  #userLayer(uid: string): LayerCache {
    const known = this.#users.get(uid)
    if (known) return known
    const layer = this.#newUserLayer(uid)
    this.#users.set(uid, layer)
    return layer
  }
}
