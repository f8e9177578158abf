import { isJsonObject, parsedJson } from '@toolrack/contract'

/** The most names that the option `loaded` of a list may have. */
const LOADED_MAX = 200

/**
 * Finds the names that the model has loaded with `load_tools` in a conversation of Chat Completions. The names are in the order
 * of loading, without duplicates. They are for the option `loaded` of a list.
 */
export function loadedTools(messages: readonly object[]): readonly string[] {
  const names = new Set<string>()
  for (const message of messages as readonly { readonly tool_calls?: unknown }[])
    for (const call of Array.isArray(message.tool_calls) ? (message.tool_calls as unknown[]) : [])
      for (const name of namesIn(call)) names.add(name)
  return [...names].slice(0, LOADED_MAX)
}

function namesIn(call: unknown): readonly string[] {
  const called = isJsonObject(call) ? call['function'] : undefined
  if (!isJsonObject(called) || called['name'] !== 'load_tools') return []
  const { arguments: text } = called
  const args = typeof text === 'string' ? parsedJson(text) : undefined
  const names = isJsonObject(args) ? args['names'] : undefined
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
}
