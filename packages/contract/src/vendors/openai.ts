import { answerParts, dataUrl, type ImageRules } from '../calls/answer-images.ts'
import type { AnsweredCall, CallFormat } from '../calls/call-format.ts'
import type { DialectRules, ToolParts } from '../dialects/in-dialect.ts'
import { inlineRefs, inlineRootRef } from '../dialects/inline-refs.ts'
import { arraysWithItems, currentSchema, refuseAtRoot } from '../dialects/schema-rules.ts'
import { strictSchema } from '../dialects/strict-schema.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { completeParameters } from '../tool-definition.ts'

type Described = Pick<ToolParts, 'name' | 'description' | 'parameters'>

/** A tool of Chat Completions. Only the dialect `openai-strict` has `strict`. */
export type OpenaiTool = {
  readonly type: 'function'
  readonly function: Described & { readonly strict?: boolean }
}

/** A tool of the Responses API. The field `strict` is always sent, because without it the API tries strict mode. */
export type OpenaiResponsesTool = Described & { readonly type: 'function'; readonly strict: boolean }

/** Keywords that OpenAI refuses beside `type: object` at the root, with or without strict mode. */
const NOT_AT_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not']

export const openaiDialect: DialectRules<OpenaiTool> = {
  name: 'openai',
  usesAliases: true,
  allowsItems: true,
  parameters: openaiParameters,
  tool: openaiTool,
}

export const openaiResponsesDialect: DialectRules<OpenaiResponsesTool> = {
  name: 'openai-responses',
  usesAliases: true,
  allowsItems: false,
  parameters: openaiParameters,
  tool: ({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters,
    strict: false,
  }),
  deferral: { searchTool: { type: 'tool_search' }, mark: { defer_loading: true } },
}

/** Chat Completions with Structured Outputs. If strict mode does not allow a tool, it is sent without strict mode. */
export const openaiStrictDialect: DialectRules<OpenaiTool> = {
  name: 'openai-strict',
  usesAliases: true,
  allowsItems: true,
  parameters: (written) => {
    // References are replaced first, because the rules of strict mode depend on where a value is in the schema.
    const inlined = inlineRefs(currentSchema(written))
    const complete = completeParameters(inlined)
    refuseAtRoot(complete, NOT_AT_ROOT)
    const strict = strictSchema(complete)
    return strict === complete ? inlined : strict
  },
  tool: (parts) => openaiTool(parts, true),
  fallback: { parameters: openaiParameters, tool: (parts) => openaiTool(parts, false) },
}

/**
 * A call is `{"id","type":"function","function":{"name","arguments":"<JSON>"}}`. Its answer is a message of the role `tool`, which
 * takes no images.
 */
export const openaiCalls: CallFormat<'openai'> = {
  name: 'openai',
  dialect: 'openai',
  itemsKey: 'tool_calls',
  otherKeys: ['content'],
  isCall: (item) => isJsonObject(item['function']) && (item['type'] ?? 'function') === 'function',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ function: called }) => {
    const { name, arguments: text } = isJsonObject(called) ? called : {}
    if (typeof name !== 'string') return 'must have a function.name'
    if (typeof text !== 'string') return 'must have function.arguments, a JSON text'
    return { name, arguments: { text } }
  },
  nullMeansOmitted: true,
  messages: (answered) =>
    answered.map((one) => ({
      role: 'tool',
      tool_call_id: one.call.id ?? '',
      content: answerParts(one).text,
    })),
}

/**
 * The images that the Responses API takes in a `function_call_output`. Its GIFs must not be animated. This cannot be seen without
 * decoding, so no GIF is sent. A request may have 50 MB.
 */
const IMAGES: ImageRules = { mimeTypes: ['image/png', 'image/jpeg', 'image/webp'] }

/** A call is `{"type":"function_call","call_id","name","arguments":"<JSON>"}`. Its answer is a `function_call_output` item. */
export const openaiResponsesCalls: CallFormat<'openai-responses'> = {
  name: 'openai-responses',
  dialect: 'openai-responses',
  itemsKey: 'output',
  isCall: ({ type }) => type === 'function_call',
  isOther: isRunByOpenai,
  id: (item) => item['call_id'],
  idFault: 'must have a call_id',
  read: ({ name, arguments: text }) => {
    if (typeof name !== 'string') return 'must have a name'
    if (typeof text !== 'string') return 'must have arguments, a JSON text'
    return { name, arguments: { text } }
  },
  nullMeansOmitted: true,
  images: IMAGES,
  messages: (answered) =>
    answered.map((one) => ({
      type: 'function_call_output',
      call_id: one.call.id ?? '',
      output: outputOf(one),
    })),
}

function outputOf(answered: AnsweredCall): JsonValue {
  const { text, images } = answerParts(answered, IMAGES)
  if (images.length === 0) return text
  const items = images.map((image): JsonObject => ({ type: 'input_image', image_url: dataUrl(image) }))
  return [{ type: 'input_text', text }, ...items]
}

/**
 * The calls of Chat Completions before `tool_calls` existed. A call is a message with
 * `"function_call":{"name","arguments":"<JSON>"}`, without an id. Its answer is a message of the role `function`.
 */
export const openaiFunctionCalls: CallFormat<'openai-functions'> = {
  name: 'openai-functions',
  itemsKey: 'function_call',
  otherKeys: ['content'],
  isCall: ({ type, name, arguments: text }) =>
    type === undefined && typeof name === 'string' && typeof text === 'string',
  id: () => undefined,
  read: ({ name, arguments: text }) =>
    typeof name === 'string' && typeof text === 'string'
      ? { name, arguments: { text } }
      : 'must have a name, and arguments that are a JSON text',
  nullMeansOmitted: true,
  messages: (answered) =>
    answered.map((one) => ({
      role: 'function',
      name: one.call.name,
      content: answerParts(one).text,
    })),
}

/** True for a call that OpenAI runs itself, such as a shell in OpenAI's container. Also true for the answer to a call. */
function isRunByOpenai({ type, environment }: JsonObject): boolean {
  if (type === 'shell_call') return isJsonObject(environment) && environment['type'] !== 'local'
  return typeof type === 'string' && /^mcp_|^program$|_output$/.test(type)
}

/** Converts a schema for Chat Completions and the Responses API without strict mode. */
function openaiParameters(written: JsonObject): JsonObject {
  const schema = arraysWithItems(inlineRootRef(currentSchema(written)))
  refuseAtRoot(schema, NOT_AT_ROOT)
  return schema
}

function openaiTool({ name, description, parameters }: ToolParts, strict?: boolean): OpenaiTool {
  const described = { name, description, parameters }
  return { type: 'function', function: strict === undefined ? described : { ...described, strict } }
}
