import type { WireFormat } from './tool-call.ts'

/** Messages: `{"type":"tool_use","id","name","input":{…}}`, answered by one user message of `tool_result` blocks. */
export const anthropicFormat: WireFormat = {
  name: 'anthropic',
  isCall: ({ type }) => type === 'tool_use',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ name, input = {} }) => {
    if (typeof name !== 'string') return 'must have a name'
    return { name, arguments: { value: input } }
  },
  messages: (answered) => {
    if (answered.length === 0) return []
    const content = answered.map(({ call, result }) => ({
      type: 'tool_result',
      tool_use_id: call.id ?? '',
      content: result.textResultForLlm,
      ...(result.resultType === 'failure' && { is_error: true }),
    }))
    return [{ role: 'user', content }]
  },
}
