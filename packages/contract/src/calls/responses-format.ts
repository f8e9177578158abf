import type { WireFormat } from './tool-call.ts'

/** Responses: `{"type":"function_call","call_id","name","arguments":"<JSON>"}`, answered by `function_call_output` items. */
export const responsesFormat: WireFormat = {
  name: 'openai-responses',
  isCall: ({ type }) => type === 'function_call',
  id: (item) => item['call_id'],
  idFault: 'must have a call_id',
  read: ({ name, arguments: text }) => {
    if (typeof name !== 'string') return 'must have a name'
    if (typeof text !== 'string') return 'must have arguments, a JSON text'
    return { name, arguments: { text } }
  },
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      type: 'function_call_output',
      call_id: call.id ?? '',
      output: result.textResultForLlm,
    })),
}
