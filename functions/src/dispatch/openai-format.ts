import { isJsonObject } from '@toolrack/contract'
import { callId } from './call-id.ts'
import type { WireFormat } from './tool-call.ts'

/** Chat Completions: `{"id","type":"function","function":{"name","arguments":"<JSON>"}}`, answered by messages of the role `tool`. */
export const openaiFormat: WireFormat = {
  name: 'openai',
  isCall: (item) => isJsonObject(item['function']) && (item['type'] ?? 'function') === 'function',
  read: ({ id, function: called }) => {
    const { name, arguments: text } = isJsonObject(called) ? called : {}
    if (!callId(id)) return 'must have an id'
    if (typeof name !== 'string') return 'must have a function.name'
    if (typeof text !== 'string') return 'must have function.arguments, a JSON text'
    return { id, name, arguments: { text } }
  },
  messages: (answered) =>
    answered.map(({ call, result }) => ({
      role: 'tool',
      tool_call_id: call.id ?? '',
      content: result.textResultForLlm,
    })),
}
