import type { JsonObject, JsonValue } from './json.ts'
import type { OnFailure } from './on-failure.ts'

/** The layers that have definitions. If several layers define the same name, the first one in this order wins. */
export const LAYERS = ['user', 'global', 'file'] as const
export type Layer = (typeof LAYERS)[number]

/** The kinds of runners. A tool without a runner is run by the client. Workflows are run by the client too. */
export const RUNNER_KINDS = ['python', 'builtin', 'workflow', 'http', 'mcp'] as const

export type ToolRunner = {
  readonly kind: (typeof RUNNER_KINDS)[number]
  readonly workflowName?: string | undefined
  readonly [field: string]: JsonValue | undefined
}

/** Hints about the effects of a tool. The names and defaults are those of MCP, except `classes`, which `classesOf` reads. */
export type ToolAnnotations = {
  readonly title?: string | undefined
  readonly readOnlyHint?: boolean | undefined
  readonly destructiveHint?: boolean | undefined
  readonly idempotentHint?: boolean | undefined
  readonly openWorldHint?: boolean | undefined
  readonly [hint: string]: JsonValue | undefined
}

export type ToolLimits = {
  readonly timeoutSeconds?: number | undefined
  readonly [limit: string]: JsonValue | undefined
}

/** A stored tool definition. `parameters` is the schema exactly as its author wrote it. */
export type ToolDefinition = {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
  }
  readonly runner?: ToolRunner | undefined
  readonly category?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly annotations?: ToolAnnotations | undefined
  readonly limits?: ToolLimits | undefined
  /** What the service does after a failure of the tool. */
  readonly onFailure?: OnFailure | undefined
  readonly sealed?: boolean | undefined
}

/** One element of a list without a dialect, in the shape of OpenAI's function tools. */
export type ListedTool = Pick<ToolDefinition, 'type' | 'function'> & {
  /** The score of a found tool and its near-identical tools. Only in a list with `q` and `explain=scores`. */
  readonly 'x-toolrack'?: FoundNote
}

/** The score of a tool in a search, and the names of near-identical tools. */
export type FoundNote = { readonly score: number; readonly twins: readonly string[] }

/** A definition as a list without a dialect shows it. */
export function listedTool(definition: ToolDefinition): ListedTool {
  const { name, description, parameters } = definition.function
  return { type: 'function', function: { name, description, parameters: completeParameters(parameters) } }
}

/** Adds `type`, `properties` and `required` if they are missing, after the author's own keys. Clients read these keys. */
export function completeParameters(parameters: JsonObject): JsonObject {
  return {
    ...parameters,
    ...(parameters['type'] === undefined && { type: 'object' }),
    ...(parameters['properties'] === undefined && { properties: {} }),
    ...(parameters['required'] === undefined && { required: [] }),
  }
}
