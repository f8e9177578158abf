import type { DialectRules, ObjectSchema } from '../dialects/in-dialect.ts'
import { currentSchema } from '../dialects/schema-rules.ts'

/** A tool of MCP's `tools/list`. `_meta` has the canonical name if the alias differs from it. */
export type McpTool = {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly annotations?: {
    readonly title?: string
    readonly readOnlyHint?: boolean
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
    readonly openWorldHint?: boolean
  }
  readonly _meta?: { readonly 'toolrack/name': string }
}

/** MCP takes every schema. Its hosts hand names on to models, so it is given aliases. */
export const mcpDialect: DialectRules<McpTool> = {
  name: 'mcp',
  usesAliases: true,
  allowsItems: false,
  parameters: currentSchema,
  tool: ({ name, description, parameters, definition }) => {
    const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } =
      definition.annotations ?? {}
    // Definitions may have other hints, which MCP does not know.
    const hints = { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint }
    const annotations = Object.fromEntries(Object.entries(hints).filter(([, hint]) => hint !== undefined))
    const canonical = definition.function.name
    return {
      name,
      ...(title !== undefined && { title }),
      description,
      inputSchema: parameters,
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(canonical !== name && { _meta: { 'toolrack/name': canonical } }),
    }
  },
}
