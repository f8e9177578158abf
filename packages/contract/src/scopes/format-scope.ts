import type { Scope, ScopeItem } from './parse-scope.ts'

const PREFIX = { name: '', group: '@', tag: 'tag:' } as const

/**
 * The canonical text of a scope. It is the same for scopes with the same items, in whatever order they were written. Blanks and
 * repeated items are left out. Items that exclude tools come last.
 */
export function formatScope(scope: Scope): string {
  if (scope.kind !== 'items') return scope.kind
  const texts = new Set(scope.items.toSorted(byText).map(formatScopeItem))
  return [...texts].join(',')
}

export function formatScopeItem({ excludes, by, text }: ScopeItem): string {
  return `${excludes ? '!' : ''}${PREFIX[by]}${text}`
}

/**
 * Orders items. Items that include tools come before items that exclude tools. Otherwise they are ordered by the code units of
 * their texts.
 */
function byText(a: ScopeItem, b: ScopeItem): number {
  if (a.excludes !== b.excludes) return a.excludes ? 1 : -1
  const [first, second] = [formatScopeItem(a), formatScopeItem(b)]
  if (first === second) return 0
  return first < second ? -1 : 1
}
