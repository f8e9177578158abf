import type { Digest } from '@toolrack/contract'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { LayerSnapshot } from '../../catalog/views/layer-snapshot.ts'
import type { ListQuery } from '../../catalog/views/list-query.ts'
import { isFinder, matches, named } from '../../catalog/views/select-entries.ts'
import { Turns, type Pieces } from '../../loop-turn.ts'
import { SharedWork } from '../../shared-work.ts'

export type ChangedTool = { readonly name: string; readonly digest: Digest }

/** The differences between an older and a newer list. Each array is sorted by name. */
export type ToolChanges = {
  /** The revision of the newer list. */
  readonly revision: string
  readonly added: readonly ChangedTool[]
  readonly changed: readonly ChangedTool[]
  readonly removed: readonly string[]
}

/** Selects the tools of a feed. */
export type FeedFilter = Pick<ListQuery, 'names' | 'tags' | 'categories' | 'withSearch'>

/**
 * The revision of a view, as feeds give it to clients. The mark `~` of a layer that cannot be read now is left out, because such
 * a layer has the same tools as before.
 */
export function feedRevision({ listRevision }: Pick<CatalogView, 'listRevision'>): string {
  return listRevision.replaceAll('~', '')
}

/**
 * The changes between two views of one principal. A tool that the principal may not see any more counts as removed. `signal` is
 * aborted when nobody waits for the changes any more.
 */
export async function changesBetween(
  before: CatalogView,
  after: CatalogView,
  filter: FeedFilter,
  signal?: AbortSignal,
): Promise<ToolChanges> {
  const names = filter.names === 'all' ? await namesToCompare(before, after, signal) : undefined
  return new Turns(signal).run(changesOf(before, after, filter, names))
}

/** The changes of the tools in `touched`. If `touched` is undefined, these are the tools that the filter names. */
export function* changesOf(
  before: CatalogView,
  after: CatalogView,
  filter: FeedFilter,
  touched: readonly string[] | undefined,
): Pieces<ToolChanges> {
  const added: ChangedTool[] = []
  const changed: ChangedTool[] = []
  const removed: string[] = []
  const old = yield* seenBy(before, filter, touched)
  const present = yield* seenBy(after, filter, touched)
  const names = new Set([...old.keys(), ...present.keys()])
  for (const name of [...names].toSorted((a, b) => (a < b ? -1 : 1))) {
    yield
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

/**
 * The names of tools that may differ between the views. Only these tools are compared, because the catalog may have 100,000
 * names.
 */
function namesToCompare(
  before: CatalogView,
  after: CatalogView,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> | readonly string[] {
  return hideAlike(before, after) ? touchedNames(before, after) : differentlyShown(before, after, signal)
}

function* seenBy(
  view: CatalogView,
  filter: FeedFilter,
  touched: readonly string[] | undefined,
): Pieces<Digests> {
  const query = { ...filter, after: undefined }
  const digests = new Map<string, Digest>()
  const see = (entry: CatalogEntry): void => {
    if (matches(entry, query)) digests.set(entry.name, entry.digest)
  }
  if (!touched) {
    if (filter.names !== 'all') named(view, filter.names).entries.forEach(see)
    return digests
  }
  for (const name of touched) {
    yield
    const entry = shownIn(view, name)
    // As in a list, the tools by which a model finds other tools are there only if the query asks for them.
    if (entry && (filter.withSearch || !isFinder(entry))) see(entry)
  }
  return digests
}

function shownIn(view: CatalogView, name: string): CatalogEntry | undefined {
  const entry = view.winner(name)
  return entry && view.shows(entry) ? entry : undefined
}

/**
 * True if both views have the same grant, rules, session and scopes. In a revision, these come after the revisions of the three
 * layers.
 */
function hideAlike(a: CatalogView, b: CatalogView): boolean {
  return hidingIn(a.listRevision) === hidingIn(b.listRevision)
}

function hidingIn(revision: string): string {
  const [whole = '', filter = ''] = revision.split(':')
  return [...whole.split('.').slice(3), filter].join('.')
}

/**
 * Remembers which tools a newer view shows differently from an older one. The key is the newer view. Many feeds compare the same
 * two views after a change of rules, of a selection or of a scope. The older view is held weakly. It may itself be the key of
 * another entry, so otherwise a chain of all views would stay in memory.
 */
const SHOWN = new WeakMap<
  CatalogView,
  { readonly of: WeakRef<CatalogView>; readonly names: readonly string[] }
>()

/** The comparisons that still run. The outer key is the newer view, the inner key the older view. */
const COMPARING = new WeakMap<CatalogView, SharedWork<CatalogView, readonly string[]>>()

async function differentlyShown(
  before: CatalogView,
  after: CatalogView,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const known = SHOWN.get(after)
  if (known?.of.deref() === before) return known.names
  const comparing = COMPARING.get(after) ?? new SharedWork<CatalogView, readonly string[]>()
  COMPARING.set(after, comparing)
  return comparing.run(before, signal, async (allLeft) => {
    const names = await new Turns(allLeft).run(compareAll(before, after))
    SHOWN.set(after, { of: new WeakRef(before), names })
    return names
  })
}

/** The names of tools that the two views show differently. */
export function* compareAll(before: CatalogView, after: CatalogView): Pieces<readonly string[]> {
  const names = new Set<string>()
  for (const { layers } of [before, after])
    for (const { snapshot } of Object.values(layers))
      for (const name of snapshot?.byName.keys() ?? []) {
        yield
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

/**
 * Remembers the names that differ between two snapshots. The key is the newer snapshot. Many feeds compare the same two snapshots
 * after a change of a layer that they share.
 */
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
