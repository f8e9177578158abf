/** The results of three calls for a model. The second call names no tool. */
export const SAID = ['one', 'Unsupported tool: NOPE', 'two'] as const

/** The same results as messages, in the shape of each vendor. */
export const MESSAGES = {
  openai: SAID.map((content, index) => ({ role: 'tool', tool_call_id: `c${index}`, content })),
  'openai-responses': SAID.map((output, index) => ({
    type: 'function_call_output',
    call_id: `c${index}`,
    output,
  })),
  anthropic: [
    {
      role: 'user',
      content: SAID.map((content, index) => ({
        type: 'tool_result',
        tool_use_id: `c${index}`,
        content,
        ...(index === 1 && { is_error: true }),
      })),
    },
  ],
  langchain: SAID.map((content, index) => ({ type: 'tool', tool_call_id: `c${index}`, content })),
  'ai-sdk': [
    {
      role: 'tool',
      content: SAID.map((value, index) => ({
        type: 'tool-result',
        toolCallId: `c${index}`,
        toolName: index === 1 ? 'NOPE' : 'ECHO',
        output: { type: index === 1 ? 'error-text' : 'text', value },
      })),
    },
  ],
  gemini: [
    {
      role: 'user',
      parts: SAID.map((text, index) => ({
        functionResponse: {
          id: `c${index}`,
          name: index === 1 ? 'NOPE' : 'ECHO',
          response: index === 1 ? { error: text } : { output: text },
        },
      })),
    },
  ],
}
