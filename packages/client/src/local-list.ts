import { aliasOf, definitionDigest, parseNameEntry } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { inDialect } from './dialect.ts'
import type { ListQuery } from './list-query.ts'
import type { ToolList } from './tool-list.ts'

/** The list that local definitions give to a query, by the rules of the service's own. */
export function localList(
  definitions: readonly ToolDefinition[],
  { names, tags, categories, dialect }: ListQuery,
): Pick<ToolList<JsonObject>, 'tools' | 'unknown' | 'quarantined'> {
  const { found, unknown } = names === 'all' ? { found: definitions, unknown: [] } : named(definitions, names)
  const matching = found.filter(
    (definition) =>
      (tags.length === 0 || tags.some((tag) => definition.tags?.includes(tag))) &&
      (categories.length === 0 || categories.includes(definition.category ?? '')),
  )
  const inOrder = matching.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  return { ...inDialect(inOrder, dialect), unknown }
}

function named(definitions: readonly ToolDefinition[], names: ReadonlySet<string>) {
  const byName = new Map(definitions.map((definition) => [aliasOf(definition.function.name), definition]))
  for (const definition of definitions) byName.set(definition.function.name, definition)
  const wanted = new Set<ToolDefinition>()
  const unknown: string[] = []
  for (const entry of names) {
    const { name, digest } = parseNameEntry(entry)
    const definition = byName.get(name)
    if (!definition) unknown.push(name)
    else if (digest === undefined || digest === definitionDigest(definition)) wanted.add(definition)
  }
  return { found: definitions.filter((definition) => wanted.has(definition)), unknown }
}
