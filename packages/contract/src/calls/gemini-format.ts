import { isJsonObject } from '../json.ts'
import type { JsonValue } from '../json.ts'
import type { ToolResult } from '../tool-result.ts'
import type { AnsweredCall, WireFormat } from './tool-call.ts'

/** Gemini: parts `{"functionCall":{"id"?,"name","args":{…}}}`, answered by one user content of `functionResponse` parts. */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  isCall: (item) => item['functionCall'] !== undefined,
  id: ({ functionCall }) => (isJsonObject(functionCall) ? functionCall['id'] : undefined),
  idFault: undefined,
  read: ({ functionCall }) => {
    const { name, args = {} } = isJsonObject(functionCall) ? functionCall : {}
    if (typeof name !== 'string') return 'must have a functionCall.name'
    return { name, arguments: { value: args } }
  },
  messages: (answered) => {
    if (answered.length === 0) return []
    return [{ role: 'user', parts: answered.map((one) => ({ functionResponse: functionResponse(one) })) }]
  },
}

/** Named as it was called; whether it was a failure is told by the key. */
function functionResponse({ call: { id, name }, result }: AnsweredCall) {
  const response = result.resultType === 'failure' ? { error: result.error } : { output: outputOf(result) }
  return { ...(id !== undefined && { id }), name, response }
}

/** A value as a value; as its text where JavaScript holds a number of it only nearly, for the model is to read what the tool returned. */
function outputOf({
  data,
  textResultForLlm: text,
}: Extract<ToolResult<unknown>, { resultType: 'success' }>): JsonValue {
  return data === undefined || data === null || holdsLargeInteger(data) ? text : (data as JsonValue)
}

/** Whether an integer in it is beyond those that JavaScript holds exactly. */
export function holdsLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsLargeInteger)
}
