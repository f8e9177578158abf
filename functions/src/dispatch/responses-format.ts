import { callId } from './call-id.ts'
import type { WireFormat } from './tool-call.ts'

/** Responses: `{"type":"function_call","call_id","name","arguments":"<JSON>"}`, answered by `function_call_output` items. */
export const responsesFormat: WireFormat = {
  name: 'openai-responses',
  isCall: ({ type }) => type === 'function_call',
  read: ({ call_id: id, name, arguments: text }) => {
    if (!callId(id)) return 'must have a call_id'
    if (typeof name !== 'string') return 'must have a name'
    if (typeof text !== 'string') return 'must have arguments, a JSON text'
    return { id, name, arguments: { text } }
  },
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      type: 'function_call_output',
      call_id: call.id ?? '',
      output: result.textResultForLlm,
    })),
}
