import type { Digest } from '@toolrack/contract'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import type { ListQuery } from '../catalog/list-query.ts'
import { matches, named } from '../catalog/select-entries.ts'

export type ChangedTool = { readonly name: string; readonly digest: Digest }

/** What makes the newer of two lists out of the older one. Each array is in the order of the names. */
export type ToolChanges = {
  /** The revision of the newer list. */
  readonly revision: string
  readonly added: readonly ChangedTool[]
  readonly changed: readonly ChangedTool[]
  readonly removed: readonly string[]
}

/** Which tools a feed is about. */
export type FeedFilter = Pick<ListQuery, 'names' | 'tags' | 'categories'>

/** The revision of a view as feeds give it. A layer that cannot be read just now has the same tools as before. */
export function feedRevision({ revision }: Pick<CatalogView, 'revision'>): string {
  return revision.replaceAll('~', '')
}

/** The changes between two views of one principal. A tool that the principal may not see any more is removed. */
export function changesBetween(before: CatalogView, after: CatalogView, filter: FeedFilter): ToolChanges {
  const added: ChangedTool[] = []
  const changed: ChangedTool[] = []
  const removed: string[] = []
  const [old, present] = seenBy(before, after, filter)
  const names = new Set([...old.keys(), ...present.keys()])
  for (const name of [...names].toSorted((a, b) => (a < b ? -1 : 1))) {
    const was = old.get(name)
    const digest = present.get(name)
    if (digest === undefined) removed.push(name)
    else if (was === undefined) added.push({ name, digest })
    else if (was !== digest) changed.push({ name, digest })
  }
  return { revision: feedRevision(after), added, changed, removed }
}

export function isEmpty({ added, changed, removed }: ToolChanges): boolean {
  return added.length + changed.length + removed.length === 0
}

type Digests = ReadonlyMap<string, Digest>

/** The tools of both views that may differ. Only these are looked up, because the catalog may have 100,000 names. */
function seenBy(before: CatalogView, after: CatalogView, filter: FeedFilter): readonly [Digests, Digests] {
  const { names } = filter
  const query = { ...filter, after: undefined }
  const digests = (entries: readonly CatalogEntry[]): Digests =>
    new Map(entries.filter((entry) => matches(entry, query)).map(({ name, digest }) => [name, digest]))
  if (names !== 'all') return [digests(named(before, names).entries), digests(named(after, names).entries)]
  if (!haveSameRules(before, after)) return [digests([...before.entries()]), digests([...after.entries()])]
  const touched = touchedNames(before, after)
  const visible = (view: CatalogView): CatalogEntry[] =>
    touched.flatMap((name) => {
      const entry = view.winner(name)
      return entry && !view.hiddenBy(name) ? entry : []
    })
  return [digests(visible(before)), digests(visible(after))]
}

/** The parts of a revision after those of the three layers are those of the grant and of the rules. */
function haveSameRules(a: CatalogView, b: CatalogView): boolean {
  return a.revision.split('.').slice(3).join('.') === b.revision.split('.').slice(3).join('.')
}

function touchedNames(before: CatalogView, after: CatalogView): readonly string[] {
  const names = new Set<string>()
  for (const layer of ['user', 'global', 'file'] as const)
    for (const name of touchedIn(before.layers[layer].snapshot, after.layers[layer].snapshot)) names.add(name)
  return [...names]
}

/** Many feeds compare the same two snapshots after a change of a layer that they share. */
const TOUCHED = new WeakMap<
  LayerSnapshot,
  { readonly of: LayerSnapshot; readonly names: readonly string[] }
>()

function touchedIn(before: LayerSnapshot | undefined, after: LayerSnapshot | undefined): readonly string[] {
  if (before === after) return []
  if (!before || !after) return [...((before ?? after)?.byName.keys() ?? [])]
  const known = TOUCHED.get(after)
  if (known?.of === before) return known.names
  const names: string[] = []
  for (const [name, entry] of after.byName) if (before.byName.get(name) !== entry) names.push(name)
  for (const name of before.byName.keys()) if (!after.byName.has(name)) names.push(name)
  TOUCHED.set(after, { of: before, names })
  return names
}
