import { nameMatcher } from '../rules/glob.ts'
import type { Scope, ScopeItem } from './parse-scope.ts'

/** What a scope compares of a tool. `internal` is true if the service runs the tool itself (`runner.kind` is `builtin`). */
export type ToolInScope = {
  readonly name: string
  readonly category?: string | undefined
  readonly tags: readonly string[]
  readonly internal: boolean
}

/** The group of every tool that the service runs itself, whatever its category is. */
export const INTERNAL_GROUP = 'internal'

/**
 * True if the tool is in the scope. An item that excludes it wins over any that includes it. A scope that only excludes has all
 * other tools.
 */
export function inScope(scope: Scope, tool: ToolInScope): boolean {
  return scopeTest(scope)(tool)
}

/** As `inScope`, for a scope that is compared with many tools. */
export function scopeTest(scope: Scope): (tool: ToolInScope) => boolean {
  if (scope.kind !== 'items') return () => scope.kind === 'all'
  const excluding = scope.items.filter(({ excludes }) => excludes).map(itemTest)
  const including = scope.items.filter(({ excludes }) => !excludes).map(itemTest)
  return (tool) =>
    !excluding.some((test) => test(tool)) && (including.length === 0 || including.some((test) => test(tool)))
}

/** Tells whether the item names a tool, whether it includes or excludes it. */
export function itemTest({ by, text }: ScopeItem): (tool: ToolInScope) => boolean {
  if (by === 'tag') return ({ tags }) => tags.includes(text)
  if (by === 'name') {
    const matches = nameMatcher(text)
    return ({ name }) => matches(name)
  }
  return text === INTERNAL_GROUP ? ({ internal }) => internal : ({ category }) => category === text
}
