import { inDialect, listedTool, nameIn } from '@toolrack/contract'
import type {
  Dialect,
  DialectTools,
  GeminiDeclaration,
  JsonObject,
  ListedTool,
  ToolDefinition,
} from '@toolrack/contract'

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

/** Definitions as a list in that dialect has them; `resolve` tells which of all definitions a call by a name would run. */
export function toolsInDialect(
  definitions: readonly ToolDefinition[],
  dialect: Dialect | undefined,
  resolve: (name: string) => ToolDefinition | undefined,
): LocalTools {
  if (dialect === undefined) return { tools: definitions.map(listedTool), quarantined: [] }
  const tools: JsonObject[] = []
  const quarantined: string[] = []
  for (const definition of definitions) {
    const { name } = definition.function
    const converted = inDialect(definition, dialect)
    if ('item' in converted && resolve(nameIn(dialect, name)) === definition) tools.push(converted.item)
    else quarantined.push(name)
  }
  const isDeclared = dialect === 'gemini' && tools.length > 0
  return { tools: isDeclared ? [{ functionDeclarations: tools }] : tools, quarantined }
}
