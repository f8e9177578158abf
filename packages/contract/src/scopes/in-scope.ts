import { GlobSet, YES } from '../matching/glob-set.ts'
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
  const { items } = scope
  const naming = itemsNaming(items)
  const excludesOnly = items.every(({ excludes }) => excludes)
  return (tool) => {
    const found = naming(tool)
    return !found.some((index) => items[index]?.excludes) && (excludesOnly || found.length > 0)
  }
}

/**
 * Compares items with many tools. Returns the indices of the items that name a tool, whether they include or exclude it, in no
 * order. The globs are compared with a name together, so the number of items matters little.
 */
export function itemsNaming(items: readonly ScopeItem[]): (tool: ToolInScope) => readonly number[] {
  const globs = items.flatMap(({ by, text }, index) => (by === 'name' ? [{ text, index }] : []))
  const names = new GlobSet(
    globs.map(({ text }) => text),
    'name',
  )
  const groups = placesOf(items, 'group')
  const tagged = placesOf(items, 'tag')
  return ({ name, category, tags, internal }) => {
    const found = new Set<number>()
    if (globs.length > 0)
      for (const [place, answer] of names.answers(name).entries())
        if (answer === YES) found.add(globs[place]?.index ?? -1)
    // The name of the internal group is that of no category.
    if (category !== undefined && category !== INTERNAL_GROUP) addAll(groups.get(category), found)
    if (internal) addAll(groups.get(INTERNAL_GROUP), found)
    for (const tag of tagged.size > 0 ? tags : []) addAll(tagged.get(tag), found)
    return [...found]
  }
}

function placesOf(items: readonly ScopeItem[], by: ScopeItem['by']): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [index, item] of items.entries())
    if (item.by === by) places.set(item.text, [...(places.get(item.text) ?? []), index])
  return places
}

function addAll(more: readonly number[] | undefined, found: Set<number>): void {
  for (const index of more ?? []) found.add(index)
}
