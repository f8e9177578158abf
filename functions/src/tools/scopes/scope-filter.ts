import { formatScopeItem, itemsNaming, scopeTest, type Scope, type ToolInScope } from '@toolrack/contract'
import { LongWork } from '../../loop-turn.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { LeftOut } from '../catalog/catalog-view.ts'

/** A scope of a list. `from` is its text as it is shown, or `ref:KIND/ID` of a stored scope. */
export type AppliedScope = { readonly from: string; readonly scope: Scope }

/** Finds out which scope leaves a tool out, if one does. A pinned tool is left out by none. */
export function scopeFilter(
  scopes: readonly AppliedScope[],
  pinned: ReadonlySet<string>,
): (entry: CatalogEntry) => LeftOut | undefined {
  const tests = scopes.map(({ from, scope }) => ({ isIn: scopeTest(scope), leftOut: outOf(from) }))
  return (entry) => {
    if (pinned.has(entry.name)) return undefined
    const tool = toolInScope(entry)
    return tests.find(({ isIn }) => !isIn(tool))?.leftOut
  }
}

/** The tools that the filter does not leave out. Other requests get a turn meanwhile. */
export async function leftIn(
  entries: Iterable<CatalogEntry>,
  leavesOut: (entry: CatalogEntry) => LeftOut | undefined,
): Promise<readonly CatalogEntry[]> {
  const work = new LongWork()
  const left: CatalogEntry[] = []
  for (const entry of entries) {
    if (work.isLong) await work.giveTurn()
    if (!leavesOut(entry)) left.push(entry)
  }
  return left
}

/** The items that match none of these tools, written as in a scope, without `!`. Other requests get a turn meanwhile. */
export async function unmatchedItems(
  entries: Iterable<CatalogEntry>,
  scopes: readonly Scope[],
  work = new LongWork(),
): Promise<readonly string[]> {
  const all = scopes.flatMap((scope) => (scope.kind === 'items' ? scope.items : []))
  const items = new Map(all.map((item) => [formatScopeItem({ ...item, excludes: false }), item]))
  const naming = itemsNaming([...items.values()])
  const texts = [...items.keys()]
  const left = new Set(texts.keys())
  for (const entry of entries) {
    if (left.size === 0) break
    if (work.isLong) await work.giveTurn()
    for (const index of naming(toolInScope(entry))) left.delete(index)
  }
  return texts.filter((_text, index) => left.has(index))
}

function toolInScope({ name, category, tags, howRun }: CatalogEntry): ToolInScope {
  return { name, category, tags, internal: howRun.by === 'builtin' }
}

function outOf(scope: string): LeftOut {
  const message = 'The scope leaves the tool out of this list. It can be called.'
  return { reason: 'OUT_OF_SCOPE', message, scope }
}
