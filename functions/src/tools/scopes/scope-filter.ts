import { formatScopeItem, inScope, matchesItem, type Scope, type ToolInScope } from '@toolrack/contract'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView, LeftOut } from '../catalog/catalog-view.ts'

/** A scope of a list. `from` is its text as it is shown, or `ref:KIND/ID` of a stored scope. */
export type AppliedScope = { readonly from: string; readonly scope: Scope }

/** Finds out which scope leaves a tool out, if one does. A pinned tool is left out by none. */
export function scopeFilter(
  scopes: readonly AppliedScope[],
  pinned: ReadonlySet<string>,
): (entry: CatalogEntry) => LeftOut | undefined {
  const tests = scopes.map(({ from, scope }) => ({ scope, leftOut: outOf(from) }))
  return (entry) => {
    if (pinned.has(entry.name)) return undefined
    const tool = toolInScope(entry)
    return tests.find(({ scope }) => !inScope(scope, tool))?.leftOut
  }
}

/** The items that match no tool of the view, so that a misspelled one is noticed. Written as in a scope. */
export function unmatchedItems(view: CatalogView, scopes: readonly Scope[]): readonly string[] {
  const items = scopes.flatMap((scope) => (scope.kind === 'items' ? scope.items : []))
  const left = new Map(items.map((item) => [formatScopeItem({ ...item, excludes: false }), item]))
  for (const entry of view.entries()) {
    if (left.size === 0) break
    const tool = toolInScope(entry)
    for (const [text, item] of left) if (matchesItem(item, tool)) left.delete(text)
  }
  return [...left.keys()]
}

function toolInScope({ name, category, tags, howRun }: CatalogEntry): ToolInScope {
  return { name, category, tags, internal: howRun.by === 'builtin' }
}

function outOf(scope: string): LeftOut {
  const message = 'The scope leaves the tool out of this list. It can be called.'
  return { reason: 'OUT_OF_SCOPE', message, scope }
}
