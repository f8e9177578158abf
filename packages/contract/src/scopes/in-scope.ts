import { matchesGlob } from '../rules/glob.ts'
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
  if (scope.kind !== 'items') return scope.kind === 'all'
  let included = false
  let includes = false
  for (const item of scope.items) {
    if (item.excludes) {
      if (matchesItem(item, tool)) return false
    } else {
      includes = true
      included ||= matchesItem(item, tool)
    }
  }
  return included || !includes
}

/** True if the item names the tool, whether it includes or excludes it. */
export function matchesItem({ by, text }: ScopeItem, tool: ToolInScope): boolean {
  if (by === 'tag') return tool.tags.includes(text)
  if (by === 'group') return text === INTERNAL_GROUP ? tool.internal : tool.category === text
  return matchesGlob(text, tool.name, 'name')
}
