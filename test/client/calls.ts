/** Calls as the vendors' models make them. Arguments that are a text are sent as they are. */
export function chat(id: string, name: string, args: unknown) {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return { id, type: 'function' as const, function: { name, arguments: text } }
}

export function responses(id: string, name: string, args: unknown): object {
  return { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args) }
}

export function anthropic(id: string, name: string, input: unknown): object {
  return { type: 'tool_use', id, name, input }
}

export function langchain(id: string, name: string, args: unknown): object {
  return { type: 'tool_call', id, name, args }
}

export function aiSdk(toolCallId: string, toolName: string, input: unknown): object {
  return { type: 'tool-call', toolCallId, toolName, input }
}

/** A call without an id. */
export function functionCall(name: string, args: unknown): object {
  return { name, arguments: JSON.stringify(args) }
}

export function gemini(id: string | undefined, name: string, args: unknown): object {
  return { functionCall: { ...(id !== undefined && { id }), name, args } }
}
