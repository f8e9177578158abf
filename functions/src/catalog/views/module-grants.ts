import { grantsDigest, sortedGrants, type Digest, type Grant, type Layer } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'

/** What the tools of one module may use, or wait for. */
export type ModuleGrants = {
  readonly module: string
  readonly layer: Layer
  /** The grants of all tools of the module, sorted. */
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  /** True if somebody must accept the grants before the tools can be called. */
  readonly isPending: boolean
  /** The names of the module's tools, sorted. */
  readonly tools: readonly string[]
}

/**
 * The modules of some layers whose tools ask for grants, by layer and name. Reads all definitions of these layers, so other
 * requests get turns.
 */
export function* modulesWithGrants(
  view: CatalogView,
  layers: readonly Layer[],
): Pieces<readonly ModuleGrants[]> {
  const found: ModuleGrants[] = []
  for (const layer of layers) {
    const modules = new Map<string, CatalogEntry[]>()
    for (const entry of view.layers[layer].snapshot?.byName.values() ?? []) {
      yield
      const { howRun, grants, pendingGrants } = entry
      if (howRun.by !== 'python') continue
      const entries = modules.get(howRun.module)
      if (entries) entries.push(entry)
      else if (grants.length > 0 || pendingGrants !== undefined) modules.set(howRun.module, [entry])
    }
    const names = [...modules.keys()].toSorted((a, b) => (a < b ? -1 : 1))
    for (const module of names) found.push(moduleGrants(module, layer, modules.get(module) ?? []))
  }
  return found
}

/** The grants of the module to which a tool belongs. Undefined if the tool belongs to none. */
export function* grantsOfModule(view: CatalogView, entry: CatalogEntry): Pieces<ModuleGrants | undefined> {
  const { howRun, layer } = entry
  if (howRun.by !== 'python') return undefined
  const entries: CatalogEntry[] = []
  // The view of a job token has only the tools that the token names, and the digest is that of all grants of the module.
  for (const other of view.withoutGrant.layers[layer].snapshot?.byName.values() ?? []) {
    yield
    if (other.howRun.by === 'python' && other.howRun.module === howRun.module) entries.push(other)
  }
  return moduleGrants(howRun.module, layer, entries)
}

/** The grants of a module that has these tools. */
export function moduleGrants(module: string, layer: Layer, entries: readonly CatalogEntry[]): ModuleGrants {
  const grants = sortedGrants(entries.flatMap((entry) => entry.grants))
  const isPending = entries.some(({ pendingGrants }) => pendingGrants !== undefined)
  const tools = entries.map(({ name }) => name).toSorted((a, b) => (a < b ? -1 : 1))
  return { module, layer, grants, grantsDigest: grantsDigest(grants), isPending, tools }
}
