import { firstSentence, type ToolDefinition } from '@toolrack/contract'

/** How much of a tool a list shows, from the most to the least. A tool without a detail level is `dropped`. */
export const DETAIL_LEVELS = ['full', 'short', 'deferred'] as const
export type DetailLevel = (typeof DETAIL_LEVELS)[number]

/** The schema of every tool without parameters in a list. */
const NO_PARAMETERS = { type: 'object', properties: {}, required: [] }

/**
 * A definition as it is at a detail level. `full`: unchanged. `short`: with only the first sentence of its description.
 * `deferred`: with only its name.
 */
export function atLevel(definition: ToolDefinition, level: DetailLevel): ToolDefinition {
  const { name, description } = definition.function
  if (level === 'full') return definition
  if (level === 'short')
    return { ...definition, function: { ...definition.function, description: firstSentence(description) } }
  return deferred(name)
}

/** A definition that has only a name. */
export function deferred(name: string): ToolDefinition {
  return { type: 'function', function: { name, description: '', parameters: NO_PARAMETERS } }
}
