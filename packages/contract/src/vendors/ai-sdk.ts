import type { CallFormat } from '../calls/call-format.ts'

/**
 * The calls of Vercel's AI SDK, version 5 or newer. A call is `{"type":"tool-call","toolCallId","toolName","input":{…}}`. The
 * answers are one message with `tool-result` parts.
 */
export const aiSdkCalls: CallFormat<'ai-sdk'> = {
  name: 'ai-sdk',
  itemsKey: 'content',
  isCall: (item) => item['type'] === 'tool-call' && item['providerExecuted'] !== true,
  // The vendor runs such a call itself, if `isCall` does not accept it. So it is not for the service.
  isOther: ({ type }) => type === 'tool-call',
  id: ({ toolCallId }) => toolCallId,
  idFault: 'must have a toolCallId',
  read: ({ toolName, input }) => {
    if (typeof toolName !== 'string') return 'must have a toolName'
    // Version 4 of the SDK sends `args` in place of `input`, and needs other answers.
    if (input === undefined) return 'must have an input, as version 5 of the AI SDK sends it'
    return { name: toolName, arguments: typeof input === 'string' ? { text: input } : { value: input } }
  },
  // The model may be one of OpenAI in strict mode, which writes null for an omitted argument.
  nullMeansOmitted: true,
  messages: (answered) => {
    if (answered.length === 0) return []
    const content = answered.map(({ call, result }) => ({
      type: 'tool-result',
      toolCallId: call.id ?? '',
      toolName: call.name,
      output: {
        type: result.resultType === 'failure' ? 'error-text' : 'text',
        value: result.textResultForLlm,
      },
    }))
    return [{ role: 'tool', content }]
  },
}
