import { firstSentence, type ToolDefinition } from '@toolrack/contract'

/** The forms of a tool in a list, from the longest to the shortest. A tool that is in none of them is `dropped`. */
export const DETAIL_LEVELS = ['full', 'short', 'deferred'] as const
export type DetailLevel = (typeof DETAIL_LEVELS)[number]

/** The same schema that every tool without parameters has in a list. */
const NO_PARAMETERS = { type: 'object', properties: {}, required: [] }

/** A definition as it is listed on a level. `short`: only the first sentence of its description. `deferred`: only its name. */
export function atLevel(definition: ToolDefinition, level: DetailLevel): ToolDefinition {
  const { name, description } = definition.function
  if (level === 'full') return definition
  if (level === 'short')
    return { ...definition, function: { ...definition.function, description: firstSentence(description) } }
  return deferred(name)
}

/** A tool of which a list says only the name. */
export function deferred(name: string): ToolDefinition {
  return { type: 'function', function: { name, description: '', parameters: NO_PARAMETERS } }
}
