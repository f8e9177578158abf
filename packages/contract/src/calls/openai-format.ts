import { isJsonObject } from '../json.ts'
import type { WireFormat } from './tool-call.ts'

/** Chat Completions: `{"id","type":"function","function":{"name","arguments":"<JSON>"}}`, answered by messages of the role `tool`. */
export const openaiFormat: WireFormat = {
  name: 'openai',
  isCall: (item) => isJsonObject(item['function']) && (item['type'] ?? 'function') === 'function',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ function: called }) => {
    const { name, arguments: text } = isJsonObject(called) ? called : {}
    if (typeof name !== 'string') return 'must have a function.name'
    if (typeof text !== 'string') return 'must have function.arguments, a JSON text'
    return { name, arguments: { text } }
  },
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      role: 'tool',
      tool_call_id: call.id ?? '',
      content: result.textResultForLlm,
    })),
}
