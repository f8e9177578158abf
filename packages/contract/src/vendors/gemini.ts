import { answerParts, type ImageRules } from '../calls/answer-images.ts'
import type { AnsweredCall, CallFormat } from '../calls/call-format.ts'
import type { DialectRules, ObjectSchema, ToolParts } from '../dialects/in-dialect.ts'
import { inlineRefs } from '../dialects/inline-refs.ts'
import { arraysWithItems, currentSchema, refuseParameterNames } from '../dialects/schema-rules.ts'
import { holdsLargeInteger, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'

/** The declaration of one function for Gemini. */
export type GeminiDeclaration = Pick<ToolParts, 'name' | 'description'> & {
  readonly parametersJsonSchema: ObjectSchema
}

/** The only tool in Gemini's `tools` field. It declares all functions. */
export type GeminiTool = { readonly functionDeclarations: GeminiDeclaration[] }

/** Matches the parameter names that Gemini documents. They apply only to parameters at the root of the schema. */
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** The keys of parts that are not calls. Parts of Gemini have no `type`, so the keys distinguish them. */
const OTHER_PARTS = ['text', 'thought', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

export const geminiDialect: DialectRules<GeminiDeclaration> = {
  name: 'gemini',
  usesAliases: false,
  allowsItems: false,
  declarationsKey: 'functionDeclarations',
  parameters: (written) => {
    const schema = arraysWithItems(inlineRefs(currentSchema(written)))
    refuseParameterNames(schema, PARAMETER_NAME, 'a letter or _ and up to 63 letters, digits or _')
    return schema
  },
  tool: ({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters }),
}

/**
 * The images that Gemini takes in a `functionResponse`, from version 3 of its models. A request with inline data may have 20 MB.
 */
const IMAGES: ImageRules = { mimeTypes: ['image/png', 'image/jpeg', 'image/webp'] }

/** A call is a part `{"functionCall":{"id"?,"name","args":{…}}}`. The answers are one content with `functionResponse` parts. */
export const geminiCalls: CallFormat<'gemini'> = {
  name: 'gemini',
  dialect: 'gemini',
  itemsKey: 'parts',
  isCall: (item) => item['functionCall'] !== undefined,
  isOther: (item) => OTHER_PARTS.some((key) => item[key] !== undefined),
  id: ({ functionCall }) => (isJsonObject(functionCall) ? functionCall['id'] : undefined),
  read: ({ functionCall }) => {
    const { name, args = {} } = isJsonObject(functionCall) ? functionCall : {}
    if (typeof name !== 'string') return 'must have a functionCall.name'
    return { name, arguments: { value: args } }
  },
  nullMeansOmitted: false,
  images: IMAGES,
  messages: (answered) => {
    if (answered.length === 0) return []
    return [{ role: 'user', parts: answered.map((one) => ({ functionResponse: functionResponse(one) })) }]
  },
}

function functionResponse(answered: AnsweredCall): JsonObject {
  const { id, name } = answered.call
  const { result } = answered
  const identity = { ...(id !== undefined && { id }), name }
  if (result.resultType === 'failure') return { ...identity, response: { error: result.error } }
  const { text, images } = answerParts(answered, IMAGES)
  // The sentences about images and files are in the text only.
  const output = text === result.textResultForLlm ? outputOf(result.data, text) : text
  const parts = images.map(({ mimeType, data }): JsonObject => ({ inlineData: { mimeType, data } }))
  return { ...identity, response: { output }, ...(parts.length > 0 && { parts }) }
}

/**
 * What is sent to Gemini as the output of a call. Usually it is the returned value. It is the text of the result if the tool has
 * returned a string or null, or if JavaScript would round an integer in the value.
 */
function outputOf(data: unknown, text: string): JsonValue {
  return data === undefined || data === null || holdsLargeInteger(data) ? text : (data as JsonValue)
}
