import { hasAliases, inDialectAs, listedTool } from '@toolrack/contract'
import type {
  Dialect,
  DialectTools,
  GeminiDeclaration,
  JsonObject,
  ListedTool,
  ToolDefinition,
} from '@toolrack/contract'
import { aliasOf } from './alias.ts'
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
  for (const definition of definitions) {
    const { name } = definition.function
    const called = hasAliases(dialect) ? await aliasOf(name) : name
    const converted = inDialectAs(called, definition, dialect)
    if ('item' in converted && (await all.find(called)) === definition) tools.push(converted.item)
    else quarantined.push(name)
  }
  const isDeclared = dialect === 'gemini' && tools.length > 0
  return { tools: isDeclared ? [{ functionDeclarations: tools }] : tools, quarantined }
}
