import type { CallFormat } from '../calls/call-format.ts'

/**
 * A call of Vercel's AI SDK, version 5 or newer: `{"type":"tool-call","toolCallId","toolName","input":{…}}`. All answers: one
 * message of `tool-result` parts.
 */
export const aiSdkCalls: CallFormat<'ai-sdk'> = {
  name: 'ai-sdk',
  itemsKey: 'content',
  isCall: (item) => item['type'] === 'tool-call' && item['providerExecuted'] !== true,
  // The vendor runs this call itself.
  isOther: ({ type }) => type === 'tool-call',
  id: ({ toolCallId }) => toolCallId,
  idFault: 'must have a toolCallId',
  read: ({ toolName, input }) => {
    if (typeof toolName !== 'string') return 'must have a toolName'
    // Version 4 sends `args` and takes other answers.
    if (input === undefined) return 'must have an input, as version 5 of the AI SDK sends it'
    return { name: toolName, arguments: typeof input === 'string' ? { text: input } : { value: input } }
  },
  // The model can be one of OpenAI in strict mode.
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
