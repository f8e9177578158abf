import type { JsonObject } from './json.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** One element of the list answer: the OpenAI function tool. */
export type ListedTool = {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject }
}

/** A definition as the list shows it: the author's `parameters`, with the three keys that every client reads. */
export function listedTool(definition: ToolDefinition): ListedTool {
  const { name, description, parameters } = definition.function
  return { type: 'function', function: { name, description, parameters: completeParameters(parameters) } }
}

/** Adds `type`, `properties` and `required` where the author left them out, after the author's own keys. */
export function completeParameters(parameters: JsonObject): JsonObject {
  return {
    ...parameters,
    ...(parameters['type'] === undefined && { type: 'object' }),
    ...(parameters['properties'] === undefined && { properties: {} }),
    ...(parameters['required'] === undefined && { required: [] }),
  }
}
