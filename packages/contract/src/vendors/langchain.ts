import type { CallFormat } from '../calls/call-format.ts'

/**
 * A call in a message of LangChain: `{"type":"tool_call","id","name","args":{…}}`. Its answer: a message of the type `tool`.
 * An `invalid_tool_call` has the text that LangChain could not parse as `args`, so the model is told what is wrong with it.
 */
export const langchainCalls: CallFormat<'langchain'> = {
  name: 'langchain',
  itemsKey: 'tool_calls',
  moreItemsKey: 'invalid_tool_calls',
  // `content` repeats the calls in the shape of the model's vendor.
  otherKeys: ['content'],
  isCall: ({ type }) => type === 'tool_call' || type === 'invalid_tool_call',
  isOther: ({ type }) => type === 'server_tool_call',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ name, args = {} }) => {
    if (typeof name !== 'string') return 'must have a name'
    return { name, arguments: typeof args === 'string' ? { text: args } : { value: args } }
  },
  // The model can be one of OpenAI in strict mode.
  nullMeansOmitted: true,
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      type: 'tool',
      tool_call_id: call.id ?? '',
      content: result.textResultForLlm,
    })),
}
