import type { Layer } from '@toolrack/contract'
import { LAYERS } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import { isAfter } from './cursor.ts'
import type { Position } from './cursor.ts'
import type { LayerState } from './layer-cache.ts'

/** The merged catalog of one principal at one moment. Every question about a name is answered here and nowhere else. */
export class CatalogView {
  readonly layers: Readonly<Record<Layer, LayerState>>
  /** Changes when the catalog does; a layer that was lost or is not the newest shows in it. */
  readonly revision: string
  readonly isWhole: boolean

  constructor(layers: Readonly<Record<Layer, LayerState>>) {
    this.layers = layers
    this.revision = `${revisionOf(layers.user)}.${revisionOf(layers.global)}.${revisionOf(layers.file)}`
    this.isWhole = LAYERS.every((layer) => layers[layer].status === 'fresh')
  }

  /** Whether this is the view of exactly these states. */
  isOf({ user, global, file }: Readonly<Record<Layer, LayerState>>): boolean {
    return this.layers.user === user && this.layers.global === global && this.layers.file === file
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
