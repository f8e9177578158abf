import { aliasOf, listedTool } from '@toolrack/contract'
import type { JsonObject, ListedTool, ToolDefinition } from '@toolrack/contract'

/** The vendor whose `tools` field a list is for. */
export type Dialect = 'openai' | 'openai-responses' | 'openai-strict' | 'anthropic' | 'gemini' | 'mcp'

/** What a vendor's `tools` field takes; without a dialect it is OpenAI's shape with canonical names. */
export type ToolOf<D extends Dialect | undefined> = D extends 'openai' | undefined ? ListedTool : JsonObject

/** Definitions as a list in that dialect has them, and the names of those that it can not express. */
export function inDialect(
  definitions: readonly ToolDefinition[],
  dialect: Dialect | undefined,
): { readonly tools: readonly JsonObject[]; readonly quarantined: readonly string[] } {
  const tools = definitions.map((definition) => {
    const { type, function: described } = listedTool(definition)
    if (dialect === undefined) return { type, function: described }
    return { type, function: { ...described, name: aliasOf(described.name) } }
  })
  return { tools, quarantined: [] }
}
