import { LRUCache } from 'lru-cache'
import type { Grant } from '../../access/principal.ts'
import { CatalogView } from './catalog-view.ts'
import { DialectFragments } from './dialect-fragments.ts'
import { LevelFragments } from './level-fragments.ts'
import { LayerCache, type LayerReport } from './layer-cache.ts'
import type { LayerSource, StoredLayer } from './layer-source.ts'

/**
 * The most users whose layers are in memory. The one that was used least recently is dropped, and read again when it is needed.
 */
const USER_LAYERS_MAX = 1_000
/** The most bytes of all users' layers in memory. One full layer takes at most 70 MB. */
export const USER_LAYER_BYTES_MAX = 128 * 1024 * 1024

type Sources = {
  readonly file: LayerSource
  readonly global: LayerSource
  readonly user: (uid: string) => LayerSource
}

type Options = {
  readonly now?: () => number
  readonly report: LayerReport
  /** Called after this instance has changed a layer. */
  readonly written?: () => void
  readonly userLayerBytesMax?: number
}

/** The user whose catalog is read, and a grant that limits the visible tools. Without a grant the user sees all of them. */
type Viewer = { readonly uid: string; readonly grant?: Grant | undefined }

/** The layer of one user, and the newest view that was made with it. */
type UserCatalog = { readonly layer: LayerCache; readonly view: CatalogView | undefined }

/** Keeps all layers in memory and merges them for each user. */
export class Catalog {
  /** The JSON texts of definitions in the dialects that were requested. */
  readonly fragments = new DialectFragments()
  /** The JSON text of each tool at each detail level, and the size of this text. */
  readonly levelFragments = new LevelFragments(this.fragments)
  readonly #global: LayerCache
  readonly #file: LayerCache
  readonly #users: LRUCache<string, UserCatalog>
  readonly #newUserLayer: (uid: string) => LayerCache
  readonly #written: () => void

  constructor(sources: Sources, options: Options) {
    const layerOptions = { now: options.now ?? (() => performance.now()), report: options.report }
    this.#written = options.written ?? (() => undefined)
    this.#global = new LayerCache('global', sources.global, layerOptions)
    this.#file = new LayerCache('file', sources.file, layerOptions)
    this.#users = new LRUCache({
      max: USER_LAYERS_MAX,
      maxSize: options.userLayerBytesMax ?? USER_LAYER_BYTES_MAX,
      sizeCalculation: ({ layer }) => 1 + (layer.state.snapshot?.bytes ?? 0),
    })
    this.#newUserLayer = (uid) => new LayerCache('user', sources.user(uid), layerOptions)
  }

  /** The catalog as the viewer sees it now. If layers have to be checked, they are read first, in parallel. Never rejects. */
  view(viewer: Viewer): CatalogView | Promise<CatalogView> {
    const user = this.#userCatalog(viewer.uid)
    const layers = [user.layer, this.#global, this.#file]
    if (layers.every(({ isChecked }) => isChecked)) return this.#view(user, viewer)
    return Promise.all(layers.map((layer) => layer.current())).then(() => this.#view(user, viewer))
  }

  /** Reads for the first time the layers that all users share. The read has no deadline. Never rejects. */
  async load(): Promise<void> {
    await Promise.all([this.#global.load(), this.#file.load()])
  }

  /** A view of only the layers that all users share. A layer whose last check is too old is read first. Never rejects. */
  async shared(): Promise<CatalogView> {
    await Promise.all([this.#global.current(), this.#file.current()])
    return new CatalogView({ user: { status: 'error' }, global: this.#global.state, file: this.#file.state })
  }

  /** Must be called after a change of a layer, so that the next list shows the change. */
  markWritten(layer: StoredLayer | { readonly kind: 'file' }): void {
    if (layer.kind === 'file') this.#file.markWritten()
    else if (layer.kind === 'global') this.#global.markWritten()
    else this.#users.get(layer.uid)?.layer.markWritten()
    this.#written()
  }

  #view({ layer, view: last }: UserCatalog, { uid, grant }: Viewer): CatalogView {
    const layers = { user: layer.state, global: this.#global.state, file: this.#file.state }
    const view = last?.isOf(layers) ? last : new CatalogView(layers)
    // Sets the entry again, because only then the LRU cache measures the size of the layer.
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
