import type { JsonObject, JsonValue } from '../json.ts'

/** The schema of a tool's parameters as vendors want it. */
export type ObjectSchema = {
  readonly [keyword: string]: JsonValue
  readonly type: 'object'
  readonly properties: { [name: string]: JsonObject }
  readonly required: string[]
}

/** OpenAI Chat Completions; `strict` only in the dialect `openai-strict`. */
export type OpenaiTool = {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: ObjectSchema
    readonly strict?: boolean
  }
}

/** OpenAI Responses. Without `strict` its API would try to be strict, so it is always said. */
export type OpenaiResponsesTool = {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  readonly strict: boolean
}

/** Anthropic Messages. */
export type AnthropicTool = {
  readonly name: string
  readonly description: string
  readonly input_schema: ObjectSchema
}

/** One declaration of Gemini's; the list puts all of them into one tool. */
export type GeminiDeclaration = {
  readonly name: string
  readonly description: string
  readonly parametersJsonSchema: ObjectSchema
}

/** MCP's `tools/list`; `_meta` has the canonical name where the alias is another. */
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

/** The element of each dialect's list. */
export type DialectTools = {
  readonly openai: OpenaiTool
  readonly 'openai-responses': OpenaiResponsesTool
  readonly 'openai-strict': OpenaiTool
  readonly anthropic: AnthropicTool
  readonly gemini: GeminiDeclaration
  readonly mcp: McpTool
}
