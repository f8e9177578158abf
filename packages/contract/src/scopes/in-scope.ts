import { NameGlobs } from './name-globs.ts'
import type { Scope, ScopeItem } from './parse-scope.ts'

/** What a scope compares of a tool. `internal` is true if the service runs the tool itself (`runner.kind` is `builtin`). */
export type ToolInScope = {
  readonly name: string
  readonly category?: string | undefined
  readonly tags: readonly string[]
  readonly internal: boolean
}

/** The group of all tools that the service runs itself, whatever their categories are. */
export const INTERNAL_GROUP = 'internal'

/**
 * True if the tool is in the scope. If one item excludes the tool and another one includes it, it is excluded. A scope whose
 * items only exclude contains all other tools.
 */
export function inScope(scope: Scope, tool: ToolInScope): boolean {
  return scopeTest(scope)(tool)
}

/** Makes a function that does the same as `inScope`, to compare one scope with many tools. */
export function scopeTest(scope: Scope): (tool: ToolInScope) => boolean {
  if (scope.kind !== 'items') return () => scope.kind === 'all'
  const { items } = scope
  const naming = itemsNaming(items)
  const excludesOnly = items.every(({ excludes }) => excludes)
  return (tool) => {
    const found = naming(tool)
    return !found.some((index) => items[index]?.excludes) && (excludesOnly || found.length > 0)
  }
}

/**
 * Returns a function that finds the items that name a tool, whether they include or exclude it. It returns the indices of these
 * items, in no order.
 */
export function itemsNaming(items: readonly ScopeItem[]): (tool: ToolInScope) => readonly number[] {
  // An empty text matches no tool, because no tool has an empty name.
  const names = new NameGlobs(items.map(({ by, text }) => (by === 'name' ? text : '')))
  return (tool) => [
    ...names.matching(tool.name),
    ...[...items.keys()].filter((index) => isLabel(items[index], tool)),
  ]
}

function isLabel(item: ScopeItem | undefined, { category, tags, internal }: ToolInScope): boolean {
  if (item?.by === 'tag') return tags.some((tag) => tag === item.text)
  if (item?.by !== 'group') return false
  return item.text === INTERNAL_GROUP ? internal : category === item.text
}
