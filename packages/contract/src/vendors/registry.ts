import type { CallFormat, ToolCall } from '../calls/call-format.ts'
import type { DialectRules } from '../dialects/in-dialect.ts'
import type { JsonObject } from '../json.ts'
import type { ListedTool } from '../tool-definition.ts'
import { anthropicCalls, anthropicDialect, type AnthropicTool } from './anthropic.ts'
import { geminiCalls, geminiDialect, type GeminiDeclaration, type GeminiTool } from './gemini.ts'
import { mcpDialect, type McpTool } from './mcp.ts'
import { openaiCalls, openaiDialect, openaiResponsesCalls } from './openai.ts'
import { openaiResponsesDialect, openaiStrictDialect } from './openai.ts'
import type { OpenaiResponsesTool, OpenaiTool } from './openai.ts'

/*
 * To add a vendor, write its file in this folder and register it in this one. Nothing else names a vendor. Names, rules
 * and call formats are separate constants, so that an app that only runs calls does not load the conversion of schemas.
 */

/** The dialects that a list can be asked for. A dialect is the shape of a vendor's `tools` field. */
export const DIALECTS = ['openai', 'openai-responses', 'openai-strict', 'anthropic', 'gemini', 'mcp'] as const
export type Dialect = (typeof DIALECTS)[number]

/** What a definition becomes in each dialect. */
export type DialectTools = {
  readonly openai: OpenaiTool
  readonly 'openai-responses': OpenaiResponsesTool
  readonly 'openai-strict': OpenaiTool
  readonly anthropic: AnthropicTool
  readonly gemini: GeminiDeclaration
  readonly mcp: McpTool
}

/** An element of a list in a dialect, or in none. Gemini's only element holds all declarations. */
export type ToolOf<D extends Dialect | undefined> = D extends 'gemini'
  ? GeminiTool
  : D extends Dialect
    ? DialectTools[D]
    : ListedTool

const RULES: { readonly [D in Dialect]: DialectRules<DialectTools[D]> } = {
  openai: openaiDialect,
  'openai-responses': openaiResponsesDialect,
  'openai-strict': openaiStrictDialect,
  anthropic: anthropicDialect,
  gemini: geminiDialect,
  mcp: mcpDialect,
}

/** The formats in which calls are read. */
export const CALL_FORMATS: readonly CallFormat<CallFormatName>[] = [
  openaiCalls,
  openaiResponsesCalls,
  anthropicCalls,
  geminiCalls,
]
export type CallFormatName = 'openai' | 'openai-responses' | 'anthropic' | 'gemini'

export function dialectRules<D extends Dialect>(dialect: D): DialectRules<DialectTools[D]> {
  return RULES[dialect]
}

/** True if the elements of a list in this dialect, or in none, have the shape of a ListedTool. */
export function hasListedShape(dialect: Dialect | undefined): boolean {
  return dialect === undefined || dialect === 'openai'
}

/**
 * A call of any vendor in a format that every service reads: OpenAI's for arguments that are a text, Anthropic's for
 * arguments that are a value. So the service reads the arguments as it would have read the model's own call.
 */
export function writeCall({ name, arguments: sent }: ToolCall, id: string): JsonObject {
  if ('text' in sent) return { id, type: 'function', function: { name, arguments: sent.text } }
  return { id, type: 'tool_use', name, input: sent.value }
}
