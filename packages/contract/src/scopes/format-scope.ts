import type { Scope, ScopeItem } from './parse-scope.ts'

const PREFIX = { name: '', group: '@', tag: 'tag:' } as const

/**
 * The canonical text of a scope. Scopes with the same items have the same text, in whatever order they were written. Blanks and
 * repeated items are left out. Items that exclude come last.
 */
export function formatScope(scope: Scope): string {
  if (scope.kind !== 'items') return scope.kind
  const texts = new Set(scope.items.toSorted(byText).map(formatScopeItem))
  return [...texts].join(',')
}

export function formatScopeItem({ excludes, by, text }: ScopeItem): string {
  return `${excludes ? '!' : ''}${PREFIX[by]}${text}`
}

/** Orders items: items that include come before items that exclude, and equal ones are ordered by code unit. */
function byText(a: ScopeItem, b: ScopeItem): number {
  if (a.excludes !== b.excludes) return a.excludes ? 1 : -1
  const [first, second] = [formatScopeItem(a), formatScopeItem(b)]
  if (first === second) return 0
  return first < second ? -1 : 1
}
