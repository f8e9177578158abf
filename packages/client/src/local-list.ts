import { dialectRules, digestedText, inDialectAs, listedTool, parseNameEntry } from '@toolrack/contract'
import type { DialectRules, JsonObject, ToolDefinition } from '@toolrack/contract'
import { ByName } from './by-name.ts'
import type { ListQuery } from './list-query.ts'
import { localScopes } from './local-scopes.ts'
import { sha256Hex } from './sha256.ts'
import definitions from './standard-definitions.json' with { type: 'json' }
import type { ToolList } from './tool-list.ts'

/**
 * The tools that a client lists if it has no other definitions. They are the families `cli` and `tasks` of the service's file
 * layer.
 */
export const STANDARD_DEFINITIONS = definitions as readonly ToolDefinition[]

type LocalTools = Pick<ToolList<JsonObject>, 'tools' | 'quarantined'>
type LocalList = LocalTools & Pick<ToolList<JsonObject>, 'unknown' | 'leftOut' | 'unmatched'>

/**
 * Answers a query from local definitions, by the same rules as the service. `selected` has the names or aliases of the tools that
 * the session has selected. Throws CRYPTO_MISSING or OPTION_INVALID.
 */
export async function localList(
  all: readonly ToolDefinition[],
  { names, tags, categories, scopes, q, loaded, dialect }: ListQuery,
  selected?: ReadonlySet<string>,
): Promise<LocalList> {
  const byName = new ByName(all.map((definition) => [definition.function.name, definition]))
  const definitions = selected ? await selectedOf(all, byName, selected) : all
  const { isIn, unmatched } = localScopes(scopes, definitions)
  const { found, unknown } =
    names === 'all' ? { found: definitions, unknown: [] } : await named(byName, names, definitions)
  const matching = found
    .filter(
      (definition) =>
        isIn(definition) &&
        (tags.length === 0 || tags.some((tag) => definition.tags?.includes(tag))) &&
        (categories.length === 0 || categories.includes(definition.category ?? '')),
    )
    .toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  const ranked = q === undefined ? matching : byWords(matching, q)
  const more =
    loaded.length > 0 ? await named(byName, new Set(loaded), definitions) : { found: [], unknown: [] }
  const asked = names === 'all' ? more.found : [...found, ...more.found]
  const leftOut = asked.filter((one) => !isIn(one)).map((one) => one.function.name)
  const missing = { unknown: [...unknown, ...more.unknown], leftOut, unmatched }
  const listed = [...new Set([...ranked, ...more.found.filter(isIn)])]
  if (dialect === undefined) return { tools: listed.map(listedTool), quarantined: [], ...missing }
  return { ...(await toolsInDialect(listed, dialectRules(dialect), byName)), ...missing }
}

/**
 * A simple search for the time when the service is not available. It finds tools that have at least one word of the query. Tools
 * with more of the words come first.
 */
function byWords(definitions: readonly ToolDefinition[], q: string): readonly ToolDefinition[] {
  const words = new Set(wordsOf(q))
  const scored = definitions.map((definition) => {
    const { name, description } = definition.function
    const own = new Set(wordsOf(`${name} ${description}`))
    return { definition, score: [...words].filter((word) => own.has(word)).length }
  })
  // The sort is stable, so equally good tools stay in their order.
  const found = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score)
  return found.map(({ definition }) => definition)
}

/** The words of a text that have three letters or more. Shorter words are mostly words like `a`, `of` and `to`. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
}

async function selectedOf(
  all: readonly ToolDefinition[],
  byName: ByName<ToolDefinition>,
  selected: ReadonlySet<string>,
): Promise<readonly ToolDefinition[]> {
  const found = new Set<ToolDefinition | undefined>()
  for (const name of selected) found.add(await byName.find(name))
  return all.filter((definition) => found.has(definition))
}

async function named(
  byName: ByName<ToolDefinition>,
  names: ReadonlySet<string>,
  definitions: readonly ToolDefinition[],
) {
  const found = new Set<ToolDefinition>()
  const unknown: string[] = []
  for (const entry of names) {
    const { name, digest } = parseNameEntry(entry)
    const definition = await byName.find(name)
    if (!definition || !definitions.includes(definition)) unknown.push(name)
    else if (digest === undefined || digest === `sha256:${await sha256Hex(digestedText(definition))}`)
      found.add(definition)
  }
  return { found: [...found], unknown }
}

/** Converts definitions to a dialect. A tool is quarantined if its alias means another tool of `all`. */
export async function toolsInDialect(
  definitions: readonly ToolDefinition[],
  dialect: DialectRules<JsonObject>,
  all: ByName<ToolDefinition>,
): Promise<LocalTools> {
  const tools: JsonObject[] = []
  const quarantined: string[] = []
  for (const definition of definitions) {
    const { name } = definition.function
    const given = dialect.usesAliases ? await all.aliasOf(name) : name
    const converted = inDialectAs(given, definition, dialect)
    if ('item' in converted && (await all.find(given)) === definition) tools.push(converted.item)
    else quarantined.push(name)
  }
  const { declarationsKey } = dialect
  // Gemini refuses a tool that declares nothing, so an empty list of tools stays empty.
  const isInOneTool = declarationsKey !== undefined && tools.length > 0
  return { tools: isInOneTool ? [{ [declarationsKey]: tools }] : tools, quarantined }
}
