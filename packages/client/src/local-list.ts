import { digestedText, parseNameEntry } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { ByName } from './by-name.ts'
import { toolsInDialect } from './dialect.ts'
import type { ListQuery } from './list-query.ts'
import { sha256Hex } from './sha256.ts'
import type { ToolList } from './tool-list.ts'

/** The list that local definitions give to a query, by the rules of the service's own. Throws CRYPTO_MISSING, if it takes a hash. */
export async function localList(
  definitions: readonly ToolDefinition[],
  { names, tags, categories, dialect }: ListQuery,
): Promise<Pick<ToolList<JsonObject>, 'tools' | 'unknown' | 'quarantined'>> {
  const byName = new ByName(definitions.map((definition) => [definition.function.name, definition]))
  const { found, unknown } =
    names === 'all' ? { found: definitions, unknown: [] } : await named(byName, names)
  const matching = found
    .filter(
      (definition) =>
        (tags.length === 0 || tags.some((tag) => definition.tags?.includes(tag))) &&
        (categories.length === 0 || categories.includes(definition.category ?? '')),
    )
    .toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  return { ...(await toolsInDialect(matching, dialect, byName)), unknown }
}

async function named(byName: ByName<ToolDefinition>, names: ReadonlySet<string>) {
  const found = new Set<ToolDefinition>()
  const unknown: string[] = []
  for (const entry of names) {
    const { name, digest } = parseNameEntry(entry)
    const definition = await byName.find(name)
    if (!definition) unknown.push(name)
    else if (digest === undefined || digest === `sha256:${await sha256Hex(digestedText(definition))}`)
      found.add(definition)
  }
  return { found: [...found], unknown }
}
