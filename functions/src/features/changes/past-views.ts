import type { Layer } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { Grant } from '../../access/principal.ts'
import { catalogEntry } from '../../catalog/views/catalog-entry.ts'
import { CatalogView, type HidingRules } from '../../catalog/views/catalog-view.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { LayerState } from '../../catalog/views/layer-cache.ts'
import { LayerSnapshot } from '../../catalog/views/layer-snapshot.ts'
import type { StoredLayer } from '../../catalog/views/layer-source.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import type { ViewFilter } from '../../catalog/views/view-filter.ts'

/**
 * The most names of a layer that may have changed since a revision. If there are not more, the layer as it was at that revision
 * is restored from the kept versions of these names.
 */
export const PAST_NAMES_MAX = 200
/** How many versions are read from the store at the same time, to bound the load of one feed on the store. */
const READS_AT_ONCE = 10
/** How many states of the file layer, sets of rules, and filters of lists are remembered, because no store keeps earlier ones. */
export const PAST_STATES_MAX = { file: 16, rules: 1_000, filters: 1_000 } as const
/**
 * The most bytes of the remembered filters. The selection in one filter may have 5,000 names, so a limit of their number is not
 * enough.
 */
export const PAST_FILTER_BYTES_MAX = 16 * 1024 * 1024
/** How many restored layers are kept. After a change, many feeds continue from the same revision. */
const PAST_LAYERS_MAX = 32

/** A caller whose view may be filtered by a session and by scopes. */
export type Filtered = {
  readonly filtered?:
    | {
        /** Equal for equal requests. */
        readonly key: string
        /**
         * The session and the scopes that filter the view now. Rejects with SESSION_NOT_FOUND or SCOPE_NOT_FOUND if one of them
         * no longer exists.
         */
        readonly present: () => ViewFilter | Promise<ViewFilter>
      }
    | undefined
}

export type Viewer = Filtered & {
  readonly uid: string
  readonly grant?: Grant | undefined
  readonly workflowId?: string | undefined
}

type Parts<Sees extends Viewer> = {
  readonly catalog: Pick<Catalog, 'view'>
  readonly store: Pick<DefinitionStore, 'layer' | 'versions'>
  readonly rulesFor: (viewer: Sees, session: ViewFilter['session']) => HidingRules | Promise<HidingRules>
}

/** Finds the present view of a viewer, and past views that memory or the store still has. */
export class PastViews<Sees extends Viewer = Viewer> {
  readonly #parts: Parts<Sees>
  readonly #files = new LRUCache<string, LayerSnapshot>({ max: PAST_STATES_MAX.file })
  readonly #rules = new LRUCache<string, HidingRules>({ max: PAST_STATES_MAX.rules })
  /**
   * The remembered filters by user and revision. Equal filters are the same object, so a filtered view stays the same object
   * while nothing changes.
   */
  readonly #filters = new LRUCache<string, ViewFilter>({
    max: PAST_STATES_MAX.filters,
    maxSize: PAST_FILTER_BYTES_MAX,
    sizeCalculation: ({ bytes }, key) => 1_024 + key.length + bytes,
  })
  readonly #layers = new LRUCache<string, Promise<LayerSnapshot | undefined>>({ max: PAST_LAYERS_MAX })

  constructor(parts: Parts<Sees>) {
    this.#parts = parts
  }

  /** The view that the viewer has now. It is the same object as before if nothing has changed. */
  async present(viewer: Sees): Promise<CatalogView> {
    const viewFilter = await viewer.filtered?.present()
    const { catalog, rulesFor } = this.#parts
    const [view, rules] = await Promise.all([catalog.view(viewer), rulesFor(viewer, viewFilter?.session)])
    return this.#seen(view, rules, viewer, viewFilter)
  }

  /**
   * The view that the viewer had at a revision. Undefined if it cannot be restored, because the revision
   *
   * - is of another store or another grant, or newer than the store,
   * - had a layer that could not be read,
   * - is older than the versions that are kept, or
   * - was filtered by a session or scopes that this instance does not remember.
   */
  async at(viewer: Sees, revision: string): Promise<CatalogView | undefined> {
    const [whole = '', filterRevision] = revision.split(':')
    const view = await this.#wholeAt(viewer, whole)
    if (!view || filterRevision === undefined) return view
    const present = await viewer.filtered?.present()
    const isPresent = present?.filter.revision === filterRevision
    const then = isPresent ? present : this.#filters.get(`${viewer.uid} ${filterRevision}`)
    return then && view.filteredBy(this.#remember(viewer.uid, then).filter)
  }

  /** Remembers the filter of a user's list, so that a feed can continue from that list. */
  know(uid: string, revision: string, viewFilter: () => ViewFilter): void {
    const key = `${uid} ${revision}`
    if (!this.#filters.get(key)) this.#filters.set(key, viewFilter())
  }

  async #wholeAt(viewer: Sees, revision: string): Promise<CatalogView | undefined> {
    const { uid, grant } = viewer
    const present = await this.#parts.catalog.view({ uid })
    const [userThen = '', globalThen = '', fileThen = '', ...ids] = revision.replaceAll('~', '').split('.')
    if (grant && ids.shift() !== grant.id) return undefined
    const rules = this.#rulesAt(ids)
    if (!rules) return undefined
    const { layers } = present
    const [user, global] = await Promise.all([
      this.#layerAt({ kind: 'user', uid }, layers.user, userThen),
      this.#layerAt({ kind: 'global' }, layers.global, globalThen),
    ])
    const file =
      layers.file.snapshot?.revision === fileThen ? layers.file.snapshot : this.#files.get(fileThen)
    if (!user || !global || !file) return undefined
    const view = new CatalogView({ user: fresh(user), global: fresh(global), file: fresh(file) })
    return (grant ? view.narrowedTo(grant) : view).ruledBy(rules)
  }

  #seen(
    view: CatalogView,
    rules: HidingRules,
    { uid, grant }: Sees,
    viewFilter: ViewFilter | undefined,
  ): CatalogView {
    const { snapshot } = view.layers.file
    // With a grant, the layers have only its tools. So they are not remembered.
    if (snapshot && !grant) this.#files.set(snapshot.revision, snapshot)
    this.#rules.set(rules.revision, rules)
    const ruled = view.ruledBy(rules)
    return viewFilter ? ruled.filteredBy(this.#remember(uid, viewFilter).filter) : ruled
  }

  /** Remembers a filter of a user, and returns it. If an equal filter is remembered, returns that one. */
  #remember(uid: string, viewFilter: ViewFilter): ViewFilter {
    const key = `${uid} ${viewFilter.filter.revision}`
    const known = this.#filters.get(key)
    if (known) return known
    this.#filters.set(key, viewFilter)
    return viewFilter
  }

  #rulesAt([revision, ...more]: readonly string[]): HidingRules | undefined {
    if (more.length > 0) return undefined
    return revision === undefined ? NO_RULES : this.#rules.get(revision)
  }

  #layerAt(
    layer: StoredLayer,
    { snapshot }: LayerState,
    revision: string,
  ): Promise<LayerSnapshot | undefined> {
    if (!snapshot) return Promise.resolve(undefined)
    if (snapshot.revision === revision) return Promise.resolve(snapshot)
    const { layer: name } = snapshot
    if (revision === NEVER_WRITTEN) return Promise.resolve(layerOf(name, revision))
    if (!isBefore(revision, snapshot.revision)) return Promise.resolve(undefined)
    const key = `${layer.kind === 'user' ? layer.uid : ''} ${snapshot.revision} ${revision}`
    const known = this.#layers.get(key)
    if (known) return known
    const made = this.#made(layer, snapshot, revision)
    this.#layers.set(key, made)
    made.catch(() => this.#layers.delete(key))
    return made
  }

  /**
   * Restores the layer as it was at a revision: takes the present layer, and replaces each definition that has changed since by
   * its earlier version.
   */
  async #made(
    layer: StoredLayer,
    present: LayerSnapshot,
    revision: string,
  ): Promise<LayerSnapshot | undefined> {
    const { store } = this.#parts
    const source = store.layer(layer)
    await source.open?.()
    const { whole, definitions, deleted } = await source.read(revision)
    const names = [...definitions.map(({ name }) => name), ...deleted]
    if (whole || names.length > PAST_NAMES_MAX) return undefined
    const gone = new Set(deleted)
    const byName = new Map(present.byName)
    for (let begin = 0; begin < names.length; begin += READS_AT_ONCE) {
      const some = names.slice(begin, begin + READS_AT_ONCE)
      const found = await Promise.all(some.map((name) => store.versions(layer, name)))
      for (const [index, name] of some.entries()) {
        const past = found[index]?.find((version) => numberIn(version.revision) <= numberIn(revision))
        // A name that is gone now was in the older list, unless it was created and deleted since. Without a version, this is not
        // known.
        if (!past && gone.has(name)) return undefined
        if (past?.text === undefined || past.digest === undefined) byName.delete(name)
        else {
          const { text, digest, revision: written } = past
          byName.set(name, catalogEntry({ name, text, digest, revision: written }, present.layer))
        }
      }
    }
    return layerOf(present.layer, revision, byName)
  }
}

const NO_RULES: HidingRules = { owned: [], isWhole: true, revision: '', hides: () => undefined }

/** The revision of a layer that has never been written. */
const NEVER_WRITTEN = '0'

function layerOf(layer: Layer, revision: string, byName: LayerSnapshot['byName'] = new Map()): LayerSnapshot {
  return new LayerSnapshot(layer, byName, { revision, skipped: [] })
}

function fresh(snapshot: LayerSnapshot): LayerState {
  return { status: 'fresh', snapshot }
}

/** True if both revisions are of one store, and the first is the earlier one. */
function isBefore(first: string, second: string): boolean {
  return numberIn(first) < numberIn(second) && first.replace(/^\d+/, '') === second.replace(/^\d+/, '')
}

function numberIn(revision: string): number {
  return Number(/^\d+/.exec(revision)?.[0] ?? Number.NaN)
}

/** True if the text has the form of a value of the header `X-Tools-Revision`. */
export function isRevision(text: string): boolean {
  return text.length <= REVISION_LENGTH_MAX && /^[\w~+-]*(?:\.[\w~+-]*){2,4}(?::[\w-]{22})?$/.test(text)
}

/** The most characters of `since`. A longer text is no revision of this service. */
const REVISION_LENGTH_MAX = 512
