import { aliasOf, definitionDigest, parseNameEntry } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { toolsInDialect } from './dialect.ts'
import type { ListQuery } from './list-query.ts'
import type { ToolList } from './tool-list.ts'

/** The list that local definitions give to a query, by the rules of the service's own. */
export function localList(
  definitions: readonly ToolDefinition[],
  { names, tags, categories, dialect }: ListQuery,
): Pick<ToolList<JsonObject>, 'tools' | 'unknown' | 'quarantined'> {
  // The first of an alias has it, unless it is a name.
  const byName = new Map(
    inOrder(definitions)
      .toReversed()
      .map((definition) => [aliasOf(definition.function.name), definition]),
  )
  for (const definition of definitions) byName.set(definition.function.name, definition)
  const { found, unknown } = names === 'all' ? { found: definitions, unknown: [] } : named(byName, names)
  const matching = found.filter(
    (definition) =>
      (tags.length === 0 || tags.some((tag) => definition.tags?.includes(tag))) &&
      (categories.length === 0 || categories.includes(definition.category ?? '')),
  )
  return { ...toolsInDialect(inOrder(matching), dialect, (name) => byName.get(name)), unknown }
}

function inOrder(definitions: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return definitions.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
}

function named(byName: ReadonlyMap<string, ToolDefinition>, names: ReadonlySet<string>) {
  const found = new Set<ToolDefinition>()
  const unknown: string[] = []
  for (const entry of names) {
    const { name, digest } = parseNameEntry(entry)
    const definition = byName.get(name)
    if (!definition) unknown.push(name)
    else if (digest === undefined || digest === definitionDigest(definition)) found.add(definition)
  }
  return { found: [...found], unknown }
}
