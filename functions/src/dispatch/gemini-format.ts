import { isJsonObject } from '@toolrack/contract'
import { callId } from './call-id.ts'
import type { AnsweredCall, WireFormat } from './tool-call.ts'

/** Gemini: parts `{"functionCall":{"id"?,"name","args":{…}}}`, answered by one user content of `functionResponse` parts. */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  isCall: (item) => item['functionCall'] !== undefined,
  read: ({ functionCall }) => {
    const { id, name, args = {} } = isJsonObject(functionCall) ? functionCall : {}
    if (id !== undefined && !callId(id)) return 'must have a functionCall.id that is a text, or none'
    if (typeof name !== 'string') return 'must have a functionCall.name'
    return { id, name, arguments: { value: args } }
  },
  messages: (answered) => {
    if (answered.length === 0) return []
    return [{ role: 'user', parts: answered.map((one) => ({ functionResponse: functionResponse(one) })) }]
  },
}

/** Named as it was called; whether it was a failure is told by the key. */
function functionResponse({ call: { id, name }, result }: AnsweredCall) {
  const response =
    result.resultType === 'failure'
      ? { error: result.error }
      : { output: result.data ?? result.textResultForLlm }
  return { ...(id !== undefined && { id }), name, response }
}
