import type { Layer } from '@toolrack/contract'
import { aliasOf, LAYERS } from '@toolrack/contract'
import { maySee } from '../../access/visible.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import { isAfter } from './cursor.ts'
import type { Position } from './cursor.ts'
import type { Grant } from '../../access/principal.ts'
import type { LayerState } from './layer-cache.ts'
import { LayerSnapshot } from './layer-snapshot.ts'

type Layers = Readonly<Record<Layer, LayerState>>

/** What a grant leaves of a view: the names whose definition is no longer the granted one can't be seen either. */
type Narrowing = { readonly grantId: string; readonly of: CatalogView; readonly changed: readonly string[] }

/** The merged catalog of one principal at one moment. Every question about a name is answered here and nowhere else. */
export class CatalogView {
  readonly layers: Layers
  /** Changes when the catalog does; a layer that was lost or is not the newest shows in it, and so does a grant. */
  readonly revision: string
  readonly isWhole: boolean
  /** The layers that could not be read at all: a tool that is not found may be theirs. */
  readonly lostLayers: readonly Layer[]
  /** Whether the user has definitions of their own, seen or not: then this view is nobody else's. */
  readonly hasOwn: boolean
  readonly #changed: readonly string[]
  readonly #narrowed = new WeakMap<Grant, CatalogView>()

  constructor(layers: Layers, narrowing?: Narrowing) {
    this.layers = layers
    const revision = `${revisionOf(layers.user)}.${revisionOf(layers.global)}.${revisionOf(layers.file)}`
    this.revision = narrowing ? `${revision}.${narrowing.grantId}` : revision
    this.lostLayers = LAYERS.filter((layer) => layers[layer].status === 'error')
    this.isWhole = LAYERS.every((layer) => layers[layer].status === 'fresh')
    this.hasOwn = narrowing?.of.hasOwn ?? (layers.user.snapshot?.byName.size ?? 0) > 0
    this.#changed = narrowing?.changed ?? []
  }

  /** Whether this is the view of exactly these states. */
  isOf({ user, global, file }: Layers): boolean {
    return this.layers.user === user && this.layers.global === global && this.layers.file === file
  }

  /**
   * The tools that `maySee` shows to the holder of a grant. Every other definition is as if it did not exist, whoever asks and
   * however, for it is not in the layers of the narrowed view. A grant is asked about once for each view.
   */
  narrowedTo(grant: Grant): CatalogView {
    const known = this.#narrowed.get(grant)
    if (known) return known
    const seen: CatalogEntry[] = []
    const changed: string[] = []
    // No other name is seen by a grant, and there may be 100,000 of them.
    for (const name of grant.tools.keys()) {
      const winner = this.winner(name)
      if (!winner) continue
      const visibility = maySee({ grant }, winner)
      if (visibility.allowed) seen.push(winner)
      else if (visibility.code === 'DIGEST_CHANGED') changed.push(name)
    }
    const { user, global, file } = this.layers
    const layers = { user: only(user, seen), global: only(global, seen), file: only(file, seen) }
    const view = new CatalogView(layers, { grantId: grant.id, of: this, changed })
    this.#narrowed.set(grant, view)
    return view
  }

  /** Whether a grant names this tool, or the tool of this alias, at a digest that is no longer its own. */
  hasChanged(nameOrAlias: string): boolean {
    return this.#changed.some((name) => name === nameOrAlias || aliasOf(name) === nameOrAlias)
  }

  /** The definition that a name means: the first layer's, unless a layer below has sealed the name. */
  winner(name: string): CatalogEntry | undefined {
    const { user, global, file } = this.layers
    const inUser = user.snapshot?.byName.get(name)
    const inGlobal = global.snapshot?.byName.get(name)
    const inFile = file.snapshot?.byName.get(name)
    if (inFile?.sealed) return inFile
    if (inGlobal?.sealed) return inGlobal
    return inUser ?? inGlobal ?? inFile
  }

  /** The definition that a name or an alias means; a tool of exactly that name comes first. */
  resolve(nameOrAlias: string): CatalogEntry | undefined {
    const exact = this.winner(nameOrAlias)
    if (exact) return exact
    for (const layer of LAYERS) {
      const entry = this.layers[layer].snapshot?.byAlias.get(nameOrAlias)
      if (entry) return this.winner(entry.name)
    }
    return undefined
  }

  /** Every visible definition, or those after a position: layer by layer, by code unit of the name. */
  *entries(after?: Position): Generator<CatalogEntry> {
    for (const layer of LAYERS) {
      const sorted = this.layers[layer].snapshot?.sorted ?? []
      for (let index = after ? firstAfter(sorted, layer, after) : 0; index < sorted.length; index += 1) {
        const entry = sorted[index]
        if (entry && this.winner(entry.name) === entry) yield entry
      }
    }
  }
}

/** A layer without any definition but these; what else it may tell, such as its broken items, is gone too. */
function only(state: LayerState, seen: readonly CatalogEntry[]): LayerState {
  if (!state.snapshot) return state
  const { layer, revision } = state.snapshot
  const entries = seen.filter((entry) => entry.layer === layer)
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return { status: state.status, snapshot: new LayerSnapshot(layer, revision, byName, []) }
}

/** The index of the first entry of a layer that comes after a position, by halving. */
function firstAfter(sorted: readonly CatalogEntry[], layer: Layer, after: Position): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = sorted[middle]
    if (entry && isAfter({ layer, name: entry.name }, after)) high = middle
    else low = middle + 1
  }
  return low
}

function revisionOf(state: LayerState): string {
  if (!state.snapshot) return 'lost'
  return state.status === 'stale' ? `${state.snapshot.revision}~` : state.snapshot.revision
}
