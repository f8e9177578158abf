import { answerParts } from '../calls/answer-images.ts'
import type { AnsweredCall } from '../calls/call-format.ts'
import type { DialectRules, ObjectSchema, ToolParts } from '../dialects/in-dialect.ts'
import { currentSchema } from '../dialects/schema-rules.ts'
import type { ToolAnnotations } from '../tool-definition.ts'
import { IMAGES_OF_MOST_MODELS } from './images-of-most-models.ts'

/** The hints that MCP defines. Other hints in a definition are not sent. */
const HINTS = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/** A tool as MCP's `tools/list` returns it. `_meta` has the canonical name, if it is not the same as the alias. */
export type McpTool = Pick<ToolParts, 'name' | 'description'> & {
  readonly title?: string
  readonly inputSchema: ObjectSchema
  readonly annotations?: { readonly [Hint in (typeof HINTS)[number]]?: NonNullable<ToolAnnotations[Hint]> }
  readonly _meta?: { readonly 'toolrack/name': string }
}

/** MCP accepts every schema. It gets aliases nevertheless, because MCP hosts pass the names of tools on to models. */
export const mcpDialect: DialectRules<McpTool> = {
  name: 'mcp',
  usesAliases: true,
  allowsItems: false,
  parameters: currentSchema,
  tool: ({ name, description, parameters, definition: { annotations = {}, function: described } }) => {
    const { title } = annotations
    const hints = HINTS.filter((hint) => annotations[hint] !== undefined)
    return {
      name,
      ...(title !== undefined && { title }),
      description,
      inputSchema: parameters,
      ...(hints.length > 0 && {
        annotations: Object.fromEntries(hints.map((hint) => [hint, annotations[hint]])),
      }),
      ...(described.name !== name && { _meta: { 'toolrack/name': described.name } }),
    }
  },
}

/** A result as MCP's `tools/call` returns it. */
export type McpResult = {
  content: (
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  )[]
  readonly isError?: boolean
}

/** MCP takes every image. It gets those that most models take, because MCP hosts pass results on to models. */
export function mcpResult(answered: AnsweredCall): McpResult {
  const { text, images } = answerParts(answered, IMAGES_OF_MOST_MODELS)
  const shown = images.map(({ data, mimeType }) => ({ type: 'image' as const, data, mimeType }))
  return {
    content: [{ type: 'text', text }, ...shown],
    ...(answered.result.resultType === 'failure' && { isError: true }),
  }
}
