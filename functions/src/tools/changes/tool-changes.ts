import type { Digest } from '@toolrack/contract'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import type { ListQuery } from '../catalog/list-query.ts'
import { isFinder, matches, named } from '../catalog/select-entries.ts'
import { LongWork } from '../../loop-turn.ts'

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
export type FeedFilter = Pick<ListQuery, 'names' | 'tags' | 'categories' | 'withSearch'>

/** The revision of a view as feeds give it. A layer that cannot be read just now has the same tools as before. */
export function feedRevision({ listRevision }: Pick<CatalogView, 'listRevision'>): string {
  return listRevision.replaceAll('~', '')
}

/** The changes between two views of one principal. A tool that the principal may not see any more is removed. */
export async function changesBetween(
  before: CatalogView,
  after: CatalogView,
  filter: FeedFilter,
): Promise<ToolChanges> {
  const added: ChangedTool[] = []
  const changed: ChangedTool[] = []
  const removed: string[] = []
  const [old, present] = await seenBy(before, after, filter)
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
async function seenBy(
  before: CatalogView,
  after: CatalogView,
  filter: FeedFilter,
): Promise<readonly [Digests, Digests]> {
  const { names } = filter
  const query = { ...filter, after: undefined }
  const digests = (entries: readonly CatalogEntry[]): Digests =>
    new Map(entries.filter((entry) => matches(entry, query)).map(({ name, digest }) => [name, digest]))
  if (names !== 'all') return [digests(named(before, names).entries), digests(named(after, names).entries)]
  const touched = hideAlike(before, after)
    ? touchedNames(before, after)
    : await differentlyShown(before, after)
  // As in a list, the tools by which a model finds others are there only if they are asked for.
  const visible = (view: CatalogView): CatalogEntry[] =>
    touched
      .flatMap((name) => shownIn(view, name) ?? [])
      .filter((entry) => filter.withSearch || !isFinder(entry))
  return [digests(visible(before)), digests(visible(after))]
}

function shownIn(view: CatalogView, name: string): CatalogEntry | undefined {
  const entry = view.winner(name)
  return entry && view.shows(entry) ? entry : undefined
}

/** True for the same grant, rules, session and scopes. Their parts of a revision are after those of the three layers. */
function hideAlike(a: CatalogView, b: CatalogView): boolean {
  return hidingIn(a.listRevision) === hidingIn(b.listRevision)
}

function hidingIn(revision: string): string {
  const [whole = '', narrowing = ''] = revision.split(':')
  return [...whole.split('.').slice(3), narrowing].join('.')
}

/**
 * Many feeds compare the same two views after a change of rules, of a selection or of a scope. The older view is held weakly: it may be
 * the newer one of another entry, and a chain of all views would never be freed.
 */
const SHOWN = new WeakMap<
  CatalogView,
  { readonly of: WeakRef<CatalogView>; readonly names: Promise<readonly string[]> }
>()

function differentlyShown(before: CatalogView, after: CatalogView): Promise<readonly string[]> {
  const known = SHOWN.get(after)
  if (known?.of.deref() === before) return known.names
  const names = compareAll(before, after)
  SHOWN.set(after, { of: new WeakRef(before), names })
  return names
}

/** Compares every name of both views. Other requests get a turn meanwhile. */
async function compareAll(before: CatalogView, after: CatalogView): Promise<readonly string[]> {
  const work = new LongWork()
  const names = new Set<string>()
  for (const { layers } of [before, after])
    for (const { snapshot } of Object.values(layers))
      for (const name of snapshot?.byName.keys() ?? []) {
        if (work.isLong) await work.giveTurn()
        if (shownIn(before, name) !== shownIn(after, name)) names.add(name)
      }
  return [...names]
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
  { readonly of: WeakRef<LayerSnapshot>; readonly names: readonly string[] }
>()

function touchedIn(before: LayerSnapshot | undefined, after: LayerSnapshot | undefined): readonly string[] {
  if (before === after) return []
  if (!before || !after) return [...((before ?? after)?.byName.keys() ?? [])]
  const known = TOUCHED.get(after)
  if (known?.of.deref() === before) return known.names
  const names: string[] = []
  for (const [name, entry] of after.byName) if (before.byName.get(name) !== entry) names.push(name)
  for (const name of before.byName.keys()) if (!after.byName.has(name)) names.push(name)
  TOUCHED.set(after, { of: new WeakRef(before), names })
  return names
}
