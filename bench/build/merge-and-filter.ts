import { completeParameters } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'

/** How such a list is commonly built: merge every layer, keep the wanted names, normalise, stringify. */
export function mergeAndFilter(
  layers: readonly ReadonlyMap<string, ToolDefinition>[],
  names: readonly string[],
): Buffer {
  const merged = new Map<string, ToolDefinition>()
  for (const layer of layers) {
    for (const [name, definition] of layer) merged.set(name, definition)
  }
  const wanted = new Set(names)
  const tools = [...merged.values()].filter((definition) => wanted.has(definition.function.name))
  return Buffer.from(JSON.stringify(tools.map(normalised)))
}

function normalised({ function: { name, description, parameters } }: ToolDefinition) {
  return { type: 'function', function: { name, description, parameters: completeParameters(parameters) } }
}
