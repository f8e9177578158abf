import { answerParts, type ImageRules } from '../calls/answer-images.ts'
import type { AnsweredCall, CallFormat } from '../calls/call-format.ts'
import type { DialectRules, ObjectSchema, ToolParts } from '../dialects/in-dialect.ts'
import { inlineRootRef } from '../dialects/inline-refs.ts'
import { currentSchema, refuseAtRoot, refuseParameterNames } from '../dialects/schema-rules.ts'
import type { JsonObject, JsonValue } from '../json.ts'

/** A tool of Anthropic's Messages API. */
export type AnthropicTool = Pick<ToolParts, 'name' | 'description'> & { readonly input_schema: ObjectSchema }

/** Matches the parameter names that Anthropic documents. They apply only to parameters at the root of the schema. */
const PARAMETER_NAME = /^[A-Za-z0-9_.-]{1,64}$/

export const anthropicDialect: DialectRules<AnthropicTool> = {
  name: 'anthropic',
  usesAliases: true,
  allowsItems: false,
  parameters: (written) => {
    const schema = inlineRootRef(currentSchema(written))
    refuseAtRoot(schema, ['oneOf', 'anyOf', 'allOf'])
    refuseParameterNames(schema, PARAMETER_NAME, 'up to 64 letters, digits, _ . or -')
    return schema
  },
  tool: ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
  deferral: {
    searchTool: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    mark: { defer_loading: true },
  },
}

/**
 * The most bytes of one image. Anthropic documents 10 MB of base64 on its own API, and 5 MB where other clouds offer its models. It
 * counts the characters of the base64, so the image itself may have three quarters of that.
 */
export const ANTHROPIC_IMAGE_BYTES_MAX = (5 * 1024 * 1024 * 3) / 4

/** The images that Anthropic takes in a `tool_result`. */
const IMAGES: ImageRules = {
  mimeTypes: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  bytesMax: ANTHROPIC_IMAGE_BYTES_MAX,
}

/** A call is `{"type":"tool_use","id","name","input":{…}}`. The answers are one user message with `tool_result` blocks. */
export const anthropicCalls: CallFormat<'anthropic'> = {
  name: 'anthropic',
  dialect: 'anthropic',
  itemsKey: 'content',
  isCall: ({ type }) => type === 'tool_use',
  isOther: ({ type }) => type === 'server_tool_use' || type === 'mcp_tool_use',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ name, input = {} }) => {
    if (typeof name !== 'string') return 'must have a name'
    return { name, arguments: { value: input } }
  },
  nullMeansOmitted: false,
  images: IMAGES,
  messages: (answered) => {
    if (answered.length === 0) return []
    const content = answered.map((one) => ({
      type: 'tool_result',
      tool_use_id: one.call.id ?? '',
      content: contentOf(one),
      ...(one.result.resultType === 'failure' && { is_error: true }),
    }))
    return [{ role: 'user', content }]
  },
}

function contentOf(answered: AnsweredCall): JsonValue {
  const { text, images } = answerParts(answered, IMAGES)
  if (images.length === 0) return text
  const blocks = images.map(({ mimeType, data }): JsonObject => {
    return { type: 'image', source: { type: 'base64', media_type: mimeType, data } }
  })
  return [{ type: 'text', text }, ...blocks]
}
