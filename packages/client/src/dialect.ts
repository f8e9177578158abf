import { aliasOf, listedTool } from '@toolrack/contract'
import type { JsonObject, ListedTool, ToolDefinition } from '@toolrack/contract'

/** The vendor whose `tools` field a list is for. */
export type Dialect = 'openai' | 'openai-responses' | 'openai-strict' | 'anthropic' | 'gemini' | 'mcp'

/** What a vendor's `tools` field takes; without a dialect it is OpenAI's shape with canonical names. */
export type ToolOf<D extends Dialect | undefined> = D extends 'openai' | undefined ? ListedTool : JsonObject

export type DialectTools = {
  readonly tools: JsonObject[]
  /** The names of those that it can not express, or whose alias means another tool. */
  readonly quarantined: readonly string[]
}

/** Definitions as a list in that dialect has them; `resolve` tells which of all definitions a call by a name would run. */
export function toolsInDialect(
  definitions: readonly ToolDefinition[],
  dialect: Dialect | undefined,
  resolve: (name: string) => ToolDefinition | undefined,
): DialectTools {
  if (dialect === undefined) return { tools: definitions.map(listedTool), quarantined: [] }
  const tools: JsonObject[] = []
  const quarantined: string[] = []
  for (const definition of definitions) {
    const { type, function: described } = listedTool(definition)
    const name = aliasOf(described.name)
    if (resolve(name) === definition) tools.push({ type, function: { ...described, name } })
    else quarantined.push(described.name)
  }
  return { tools, quarantined }
}
