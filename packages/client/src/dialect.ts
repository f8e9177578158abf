import { hasAliases, inDialectAs, listedTool } from '@toolrack/contract'
import type {
  Dialect,
  DialectTools,
  GeminiDeclaration,
  JsonObject,
  ListedTool,
  ToolDefinition,
} from '@toolrack/contract'
import type { ByName } from './by-name.ts'

/** Gemini's `tools` field has one tool, which declares all functions. */
export type GeminiTool = { readonly functionDeclarations: GeminiDeclaration[] }

/** What a vendor's `tools` field takes; without a dialect it is OpenAI's shape with canonical names. */
export type ToolOf<D extends Dialect | undefined> = D extends 'gemini'
  ? GeminiTool
  : D extends Dialect
    ? DialectTools[D]
    : ListedTool

export type LocalTools = {
  readonly tools: JsonObject[]
  /** The names of those that it can not express, or whose alias means another tool. */
  readonly quarantined: readonly string[]
}

/** Definitions as a list in that dialect has them; a call is of whichever of all definitions has its name. */
export async function toolsInDialect(
  definitions: readonly ToolDefinition[],
  dialect: Dialect | undefined,
  all: ByName<ToolDefinition>,
): Promise<LocalTools> {
  if (dialect === undefined) return { tools: definitions.map(listedTool), quarantined: [] }
  const tools: JsonObject[] = []
  const quarantined: string[] = []
  const names = definitions.map((definition) => definition.function.name)
  const called = hasAliases(dialect) ? await Promise.all(names.map((name) => all.aliasOf(name))) : names
  for (const [index, definition] of definitions.entries()) {
    const name = called[index] ?? ''
    const converted = inDialectAs(name, definition, dialect)
    if ('item' in converted && (await all.find(name)) === definition) tools.push(converted.item)
    else quarantined.push(definition.function.name)
  }
  const isDeclared = dialect === 'gemini' && tools.length > 0
  return { tools: isDeclared ? [{ functionDeclarations: tools }] : tools, quarantined }
}
