import type { CallFormat } from '../calls/call-format.ts'

/**
 * The calls of LangChain. A call is `{"type":"tool_call","id","name","args":{…}}`. Its answer is a message of the type `tool`. If
 * LangChain could not parse the arguments, the call is an `invalid_tool_call`, and `args` is a text. The service reads it too,
 * and tells the model what is wrong with the text.
 */
export const langchainCalls: CallFormat<'langchain'> = {
  name: 'langchain',
  itemsKey: 'tool_calls',
  moreItemsKey: 'invalid_tool_calls',
  // In a message of LangChain, `content` repeats the calls in the format of the model's vendor.
  otherKeys: ['content'],
  isCall: ({ type }) => type === 'tool_call' || type === 'invalid_tool_call',
  isOther: ({ type }) => type === 'server_tool_call',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ name, args = {} }) => {
    if (typeof name !== 'string') return 'must have a name'
    return { name, arguments: typeof args === 'string' ? { text: args } : { value: args } }
  },
  // The model may be one of OpenAI in strict mode, which writes null for an omitted argument.
  nullMeansOmitted: true,
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      type: 'tool',
      tool_call_id: call.id ?? '',
      content: result.textResultForLlm,
    })),
}
