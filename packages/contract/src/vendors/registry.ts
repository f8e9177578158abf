import type { CallFormat, ToolCall } from '../calls/call-format.ts'
import type { DialectRules } from '../dialects/in-dialect.ts'
import type { JsonObject } from '../json.ts'
import type { ListedTool } from '../tool-definition.ts'
import { aiSdkCalls } from './ai-sdk.ts'
import { anthropicCalls, anthropicDialect, type AnthropicTool } from './anthropic.ts'
import { geminiCalls, geminiDialect, type GeminiDeclaration, type GeminiTool } from './gemini.ts'
import { langchainCalls } from './langchain.ts'
import { mcpDialect, type McpTool } from './mcp.ts'
import { openaiCalls, openaiDialect, openaiFunctionCalls, openaiResponsesCalls } from './openai.ts'
import { openaiResponsesDialect, openaiStrictDialect } from './openai.ts'
import type { OpenaiResponsesTool, OpenaiTool } from './openai.ts'

/*
 * To add a vendor, write its file in this folder and register the vendor in this file. No other code has to change. Names,
 * rules and call formats are separate constants, so that an app that only runs calls does not load the schema conversion.
 */

/** The dialects in which a list can be requested. A dialect is the shape of a vendor's `tools` field. */
export const DIALECTS = ['openai', 'openai-responses', 'openai-strict', 'anthropic', 'gemini', 'mcp'] as const
export type Dialect = (typeof DIALECTS)[number]

/** The type of one converted definition in each dialect. */
export type DialectTools = {
  readonly openai: OpenaiTool
  readonly 'openai-responses': OpenaiResponsesTool
  readonly 'openai-strict': OpenaiTool
  readonly anthropic: AnthropicTool
  readonly gemini: GeminiDeclaration
  readonly mcp: McpTool
}

/** One element of a list in a dialect, or of a list without one. A list for Gemini has one element with all declarations. */
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

/** The formats of calls that can be read. */
export const CALL_FORMATS: readonly CallFormat<CallFormatName>[] = [
  openaiCalls,
  openaiResponsesCalls,
  anthropicCalls,
  geminiCalls,
  langchainCalls,
  aiSdkCalls,
  openaiFunctionCalls,
]
export type CallFormatName =
  'openai' | 'openai-responses' | 'anthropic' | 'gemini' | 'langchain' | 'ai-sdk' | 'openai-functions'

export function dialectRules<D extends Dialect>(dialect: D): DialectRules<DialectTools[D]> {
  return RULES[dialect]
}

/** True if the elements of a list have the shape of a ListedTool. `undefined` stands for a list without a dialect. */
export function hasListedShape(dialect: Dialect | undefined): boolean {
  return dialect === undefined || dialect === 'openai'
}

/**
 * Writes a call of any vendor in a format that every service reads. If the arguments are a text, or if null means "omitted", it
 * is OpenAI's format, otherwise Anthropic's. So the service gets the arguments exactly as the model has written them.
 */
export function writeCall({ name, arguments: sent, nullMeansOmitted }: ToolCall, id: string): JsonObject {
  if (!('text' in sent) && !nullMeansOmitted) return { id, type: 'tool_use', name, input: sent.value }
  const text = 'text' in sent ? sent.text : JSON.stringify(sent.value)
  return { id, type: 'function', function: { name, arguments: text } }
}
