import { LRUCache } from 'lru-cache'
import type { Grant } from '../../access/principal.ts'
import { CatalogView } from './catalog-view.ts'
import { DialectFragments } from './dialect-fragments.ts'
import { LayerCache, type LayerReport } from './layer-cache.ts'
import type { LayerSource, StoredLayer } from './layer-source.ts'

const USER_LAYERS_MAX = 1_000
/** Bytes of all users' layers in memory. One full layer takes at most 70 MB. */
export const USER_LAYER_BYTES_MAX = 128 * 1024 * 1024

export type CatalogSources = {
  readonly file: LayerSource
  readonly global: LayerSource
  readonly user: (uid: string) => LayerSource
}

export type CatalogOptions = {
  readonly now?: () => number
  readonly report: LayerReport
  readonly userLayerBytesMax?: number
}

/** Whose catalog it is, and what of it they may see. Without a grant they see all of it. */
type Viewer = { readonly uid: string; readonly grant?: Grant | undefined }

/** `view` is the last that was made with the layer. */
type UserCatalog = { readonly layer: LayerCache; readonly view: CatalogView | undefined }

/** Every layer in memory, merged for each user. */
export class Catalog {
  /** The definitions of all layers, in the dialects that were asked for. */
  readonly fragments = new DialectFragments()
  readonly #global: LayerCache
  readonly #file: LayerCache
  readonly #users: LRUCache<string, UserCatalog>
  readonly #newUserLayer: (uid: string) => LayerCache

  constructor(sources: CatalogSources, options: CatalogOptions) {
    const layerOptions = { now: options.now ?? (() => performance.now()), report: options.report }
    this.#global = new LayerCache('global', sources.global, layerOptions)
    this.#file = new LayerCache('file', sources.file, layerOptions)
    this.#users = new LRUCache({
      max: USER_LAYERS_MAX,
      maxSize: options.userLayerBytesMax ?? USER_LAYER_BYTES_MAX,
      sizeCalculation: ({ layer }) => 1 + (layer.state.snapshot?.bytes ?? 0),
    })
    this.#newUserLayer = (uid) => new LayerCache('user', sources.user(uid), layerOptions)
  }

  /** What the viewer sees now: at once, or after reading the layers that are due, all together. Never rejects. */
  view(viewer: Viewer): CatalogView | Promise<CatalogView> {
    const user = this.#userCatalog(viewer.uid)
    if (user.layer.isChecked && this.#global.isChecked && this.#file.isChecked)
      return this.#view(user, viewer)
    const due = [user.layer, this.#global, this.#file].map((layer) => layer.current())
    return Promise.all(due).then(() => this.#view(user, viewer))
  }

  /** Reads the layers that everybody shares for the first time, however long that takes. Never rejects. */
  async load(): Promise<void> {
    await Promise.all([this.#global.load(), this.#file.load()])
  }

  /** The layers that everybody shares, read if it is time to. Never rejects. */
  async shared(): Promise<CatalogView> {
    await Promise.all([this.#global.current(), this.#file.current()])
    return new CatalogView({ user: { status: 'error' }, global: this.#global.state, file: this.#file.state })
  }

  /** To be called after a write, so that the writer's next list shows it. */
  markWritten(layer: StoredLayer): void {
    if (layer.kind === 'global') this.#global.markWritten()
    else this.#users.get(layer.uid)?.layer.markWritten()
  }

  /** To be called when the file layer has changed, so that the next list shows it. */
  markFilesChanged(): void {
    this.#file.markWritten()
  }

  #view({ layer, view: last }: UserCatalog, { uid, grant }: Viewer): CatalogView {
    const layers = { user: layer.state, global: this.#global.state, file: this.#file.state }
    const view = last?.isOf(layers) ? last : new CatalogView(layers)
    // Setting it again makes the cache measure the layer again.
    if (view !== last) this.#users.set(uid, { layer, view })
    return grant ? view.narrowedTo(grant) : view
  }

  #userCatalog(uid: string): UserCatalog {
    const known = this.#users.get(uid)
    if (known) return known
    const user = { layer: this.#newUserLayer(uid), view: undefined }
    this.#users.set(uid, user)
    return user
  }
}
