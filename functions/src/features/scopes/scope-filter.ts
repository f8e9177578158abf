import { formatScopeItem, itemsNaming, scopeTest, type Scope, type ToolInScope } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { LeftOut } from '../../catalog/views/catalog-view.ts'

/** A scope that filters a list. `from` names it in answers: its own text, or `ref:KIND/ID` for a stored scope. */
export type AppliedScope = { readonly from: string; readonly scope: Scope }

/**
 * Returns a function that says which scope leaves a tool out. It returns undefined if the tool stays. A pinned tool always stays.
 */
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

/** Those tools in `entries` that the filter does not leave out. */
export function* leftIn(
  entries: readonly CatalogEntry[],
  leavesOut: (entry: CatalogEntry) => LeftOut | undefined,
): Pieces<readonly CatalogEntry[]> {
  const left: CatalogEntry[] = []
  for (const entry of entries) {
    yield
    if (!leavesOut(entry)) left.push(entry)
  }
  return left
}

/** The items of the scopes that match none of these tools. They are written as in a scope, but without `!`. */
export function* unmatchedItems(
  entries: readonly CatalogEntry[],
  scopes: readonly Scope[],
): Pieces<readonly string[]> {
  const all = scopes.flatMap((scope) => (scope.kind === 'items' ? scope.items : []))
  const items = new Map(all.map((item) => [formatScopeItem({ ...item, excludes: false }), item]))
  const naming = itemsNaming([...items.values()])
  const texts = [...items.keys()]
  const left = new Set(texts.keys())
  for (const entry of entries) {
    if (left.size === 0) break
    yield
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
