import { firstSentence, type ToolDefinition } from '@toolrack/contract'

/** The forms of a tool in a list, from the longest to the shortest. A tool that is in none of them is `dropped`. */
export const RUNGS = ['full', 'short', 'deferred'] as const
export type Rung = (typeof RUNGS)[number]

/** The same schema that every tool without parameters has in a list. */
const NO_PARAMETERS = { type: 'object', properties: {}, required: [] }

/** A definition as it is listed on a rung. `short`: only the first sentence of its description. `deferred`: only its name. */
export function atRung(definition: ToolDefinition, rung: Rung): ToolDefinition {
  const { name, description } = definition.function
  if (rung === 'full') return definition
  if (rung === 'short')
    return { ...definition, function: { ...definition.function, description: firstSentence(description) } }
  return deferred(name)
}

/** A tool of which a list says only the name. */
export function deferred(name: string): ToolDefinition {
  return { type: 'function', function: { name, description: '', parameters: NO_PARAMETERS } }
}
