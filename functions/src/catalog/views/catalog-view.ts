import { aliasOf, LAYERS, type Layer, type RuleDecision } from '@toolrack/contract'
import type { Grant } from '../../access/principal.ts'
import { maySee, whyNotCalled } from '../../access/visible.ts'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { LayerState } from './layer-cache.ts'
import { LayerSnapshot } from './layer-snapshot.ts'
import { inOrder, type Position } from './list-query.ts'
import { whyPending } from './why-pending.ts'

type Layers = Readonly<Record<Layer, LayerState>>

/**
 * A grant that limits a view, and the view `of` without this limit. `changed` has the names whose digests are no longer those of
 * the grant.
 */
type GrantLimit = { readonly grant: Grant; readonly of: CatalogView; readonly changed: readonly string[] }

/** Rules that may hide tools. If there are none, `owned` is empty. */
export type HidingRules = {
  readonly owned: readonly unknown[]
  /** False if some of the rules could not be read. */
  readonly isWhole: boolean
  /** A text that is the same for the same rules. */
  readonly revision: string
  /** The decision of a rule that denies the tool with all arguments. Undefined if no rule does so. */
  readonly hides: (entry: CatalogEntry) => RuleDecision | undefined
}

/** Why a list leaves out a tool although the rules and the grant allow the principal to call it. */
export type LeftOut = {
  readonly reason: 'OUT_OF_SCOPE' | 'NOT_SELECTED'
  readonly message: string
  /** The scope that leaves out the tool: `ref:KIND/ID` for a stored scope, or the text in the request. */
  readonly scope?: string
}

/**
 * A filter for one list, in addition to grants and rules. It only leaves tools out. It does not change which definition a name
 * means.
 */
export type ListFilter = {
  /**
   * A text that is equal for equal contents of the filter. Needed only if the revision of the list depends on the filter
   * (`listRevision`).
   */
  readonly revision?: string
  readonly leavesOut: (entry: CatalogEntry) => LeftOut | undefined
}

/** The merged catalog of one principal at one moment. Only this class decides which definition a name means. */
export class CatalogView {
  readonly layers: Layers
  /** A text that differs after each change of the catalog, between grants, and if a layer has the status `stale` or `error`. */
  readonly revision: string
  /** True if every layer and all rules could be read. */
  readonly isWhole: boolean
  /** True if rules that may hide tools of this view could not be read. */
  readonly hasLostRules: boolean
  /** The layers that could not be read at all. A tool that is not found may be in one of them. */
  readonly lostLayers: readonly Layer[]
  /** True if the user has definitions in the user layer, visible or not. If it is true, no other user has the same view. */
  readonly hasOwn: boolean
  readonly #changed: readonly string[]
  readonly #narrowed = new WeakMap<Grant, CatalogView>()
  readonly #ruled = new WeakMap<HidingRules, CatalogView>()
  readonly #filtered = new WeakMap<ListFilter, CatalogView>()
  readonly #rules: HidingRules | undefined
  readonly #grantLimit: GrantLimit | undefined
  readonly #filter: ListFilter | undefined

  constructor(layers: Layers, grantLimit?: GrantLimit, rules?: HidingRules, filter?: ListFilter) {
    this.layers = layers
    this.#rules = rules
    this.#filter = filter
    const ids = [grantLimit?.grant.id, rules?.revision].filter((id) => id !== undefined)
    this.revision = [...LAYERS.map((layer) => revisionOf(layers[layer])), ...ids].join('.')
    this.lostLayers = LAYERS.filter((layer) => layers[layer].status === 'error')
    this.hasLostRules = rules?.isWhole === false
    this.isWhole = !this.hasLostRules && LAYERS.every((layer) => layers[layer].status === 'fresh')
    this.hasOwn = grantLimit?.of.hasOwn ?? (layers.user.snapshot?.byName.size ?? 0) > 0
    this.#changed = grantLimit?.changed ?? []
    this.#grantLimit = grantLimit
  }

  isOf({ user, global, file }: Layers): boolean {
    return this.layers.user === user && this.layers.global === global && this.layers.file === file
  }

  /**
   * The view for the holder of a grant. Its layers contain only the tools that the grant lets the holder see. It is made once for
   * each grant.
   */
  narrowedTo(grant: Grant): CatalogView {
    const known = this.#narrowed.get(grant)
    if (known) return known
    const seen: CatalogEntry[] = []
    const changed: string[] = []
    // Looks up only the names of the grant, because the catalog may have 100,000 names.
    for (const name of grant.tools.keys()) {
      const winner = this.winner(name)
      if (!winner) continue
      const visibility = maySee({ grant }, winner)
      if (visibility.allowed) seen.push(winner)
      else if (visibility.code === 'DIGEST_CHANGED') changed.push(name)
    }
    const { user, global, file } = this.layers
    const layers = { user: only(user, seen), global: only(global, seen), file: only(file, seen) }
    const view = new CatalogView(layers, { grant, of: this, changed })
    this.#narrowed.set(grant, view)
    return view
  }

  /** The view without the tools that rules hide. Without rules, it is this view. It is made once for each set of rules. */
  ruledBy(rules: HidingRules): CatalogView {
    if (rules.owned.length === 0 && rules.isWhole) return this
    const known = this.#ruled.get(rules)
    if (known) return known
    const view = new CatalogView(this.layers, this.#grantLimit, rules)
    this.#ruled.set(rules, view)
    return view
  }

  /**
   * The view without the tools that the filter leaves out. It has the same `revision` as this view. It is made once for each
   * filter.
   */
  filteredBy(filter: ListFilter): CatalogView {
    const known = this.#filtered.get(filter)
    if (known) return known
    const view = new CatalogView(this.layers, this.#grantLimit, this.#rules, filter)
    this.#filtered.set(filter, view)
    return view
  }

  /** The revision of a list that is made from this view. It changes with the view and with its filter. */
  get listRevision(): string {
    const by = this.#filter?.revision
    return by === undefined ? this.revision : `${this.revision}:${by}`
  }

  /**
   * True if there is a tool with this name or alias, and the list leaves it out because of a filter, or because it waits for
   * consent. False if rules hide it.
   */
  leavesOut(nameOrAlias: string): boolean {
    const meant = this.meaning(nameOrAlias)
    if (!meant || this.#rules?.hides(meant)) return false
    return meant.pendingGrants !== undefined || this.#filter?.leavesOut(meant) !== undefined
  }

  /** Why the filter leaves out the tool with this name or alias. Does not check whether rules hide it, or whether it waits. */
  filteredOut(nameOrAlias: string): LeftOut | undefined {
    const meant = this.meaning(nameOrAlias)
    return meant && this.#filter?.leavesOut(meant)
  }

  /**
   * Why the grant does not let its holder see a tool with this name or alias. The reason is the same whether such a tool exists
   * or not.
   */
  notGranted(nameOrAlias: string): string | undefined {
    return whyNotCalled({ grant: this.#grantLimit?.grant }, nameOrAlias)?.message
  }

  /** The decision of a rule that hides the tool with this name or alias. Undefined if no rule hides it. */
  hiddenBy(nameOrAlias: string): RuleDecision | undefined {
    const meant = this.meaning(nameOrAlias)
    return meant && this.#rules?.hides(meant)
  }

  /** Why the tool with this name or alias waits for consent to its grants. Undefined if it waits for nothing. */
  whyPending(nameOrAlias: string): string | undefined {
    const meant = this.meaning(nameOrAlias)
    return meant && whyPending(meant)
  }

  /** True if the grant names the tool with this name or alias, but with another digest than the tool has now. */
  hasChanged(nameOrAlias: string): boolean {
    return this.#changed.some((name) => name === nameOrAlias || aliasOf(name) === nameOrAlias)
  }

  /** The definition that a name means: the one in the uppermost layer, unless a layer below has sealed the name. */
  winner(name: string): CatalogEntry | undefined {
    const { user, global, file } = this.layers
    const inUser = user.snapshot?.byName.get(name)
    const inGlobal = global.snapshot?.byName.get(name)
    const inFile = file.snapshot?.byName.get(name)
    if (inFile?.sealed) return inFile
    if (inGlobal?.sealed) return inGlobal
    return inUser ?? inGlobal ?? inFile
  }

  /** The definitions with this name in the layers below `layer`, from the uppermost to the lowest. */
  below(layer: Layer, name: string): readonly CatalogEntry[] {
    const lower = LAYERS.slice(LAYERS.indexOf(layer) + 1)
    return lower.flatMap((each) => this.layers[each].snapshot?.byName.get(name) ?? [])
  }

  /** The visible definition that a name or an alias means. */
  resolve(nameOrAlias: string): CatalogEntry | undefined {
    const meant = this.meaning(nameOrAlias)
    return meant && this.#shows(meant) ? meant : undefined
  }

  /** This view before it was limited to a grant. The views of all grants of a user share its snapshots. */
  get withoutGrant(): CatalogView {
    return this.#grantLimit?.of ?? this
  }

  /** True if the view shows this definition, so that a list may contain it. */
  shows(entry: CatalogEntry): boolean {
    return this.winner(entry.name) === entry && this.#shows(entry)
  }

  /** True if the tool waits for consent to its grants, so that no list shows it, and it cannot be called. */
  isPending(entry: CatalogEntry): boolean {
    return this.winner(entry.name) === entry && entry.pendingGrants !== undefined
  }

  #shows(entry: CatalogEntry): boolean {
    if (entry.pendingGrants !== undefined) return false
    return !this.#rules?.hides(entry) && !this.#filter?.leavesOut(entry)
  }

  /**
   * The definition that a name or an alias means, even if rules or a filter hide it. A tool with exactly this name has priority
   * over a tool with this alias.
   */
  meaning(nameOrAlias: string): CatalogEntry | undefined {
    const exact = this.winner(nameOrAlias)
    if (exact) return exact
    for (const layer of LAYERS) {
      const entry = this.layers[layer].snapshot?.byAlias.get(nameOrAlias)
      if (entry) return this.winner(entry.name)
    }
    return undefined
  }

  /** Reads the aliases of all definitions, and lets other work run now and then. Afterwards `meaning` finds any alias at once. */
  *readAliases(): Pieces<void> {
    for (const layer of LAYERS) yield* this.layers[layer].snapshot?.readAliases() ?? []
  }

  /** All visible definitions, in the order of the catalog. */
  *entries(): Generator<CatalogEntry> {
    for (const entry of this.candidates()) if (this.shows(entry)) yield entry
  }

  /**
   * Returns the same definitions as `entries`. Lets other work run now and then, because rules that hide many definitions take
   * long.
   */
  *shown(): Pieces<readonly CatalogEntry[]> {
    const shown: CatalogEntry[] = []
    for (const entry of this.candidates()) {
      yield
      if (this.shows(entry)) shown.push(entry)
    }
    return shown
  }

  /**
   * The definitions of all layers in the order of the catalog, or only those after a position. Some of them may be hidden.
   * `shows` tells whether a definition is visible.
   */
  *candidates(after?: Position): Generator<CatalogEntry> {
    for (const layer of LAYERS) {
      const sorted = this.layers[layer].snapshot?.sorted ?? []
      for (let index = after ? firstAfter(sorted, after) : 0; index < sorted.length; index += 1) {
        const entry = sorted[index]
        if (entry) yield entry
      }
    }
  }
}

/** The layer with only these definitions. The list of its skipped items is removed, because it would reveal other definitions. */
function only(state: LayerState, seen: readonly CatalogEntry[]): LayerState {
  if (!state.snapshot) return state
  const { layer, revision } = state.snapshot
  const entries = seen.filter((entry) => entry.layer === layer)
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return { status: state.status, snapshot: new LayerSnapshot(layer, byName, { revision, skipped: [] }) }
}

function firstAfter(sorted: readonly CatalogEntry[], after: Position): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = sorted[middle]
    if (entry && inOrder(entry, after) > 0) high = middle
    else low = middle + 1
  }
  return low
}

function revisionOf({ status, snapshot }: LayerState): string {
  if (!snapshot) return 'lost'
  return status === 'stale' ? `${snapshot.revision}~` : snapshot.revision
}
