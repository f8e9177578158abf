import { isJsonArray, isJsonObject, type JsonObject } from '../json.ts'
import { firstSentence } from './sentences.ts'

/** A tool in the guide, with the name by which the model calls it. */
export type GuidedTool = {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/**
 * A section of a prompt that has a line for each tool: its name, its arguments, and the first sentence of its description.
 * Undefined if there are no tools.
 */
export function guideText(tools: readonly GuidedTool[]): string | undefined {
  if (tools.length === 0) return undefined
  return ['## Your functions', '', ...tools.map(line)].join('\n')
}

/** One line, such as `- **search**(query, limit?): Searches the web.` A question mark follows an optional argument. */
function line({ name, description, parameters }: GuidedTool): string {
  const { properties, required } = parameters
  const needed = new Set(required !== undefined && isJsonArray(required) ? required : [])
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const shown = names.map((argument) => (needed.has(argument) ? argument : `${argument}?`))
  const said = firstSentence(description).trim()
  return `- **${name}**(${shown.join(', ')})${said === '' ? '' : `: ${said}`}`
}
