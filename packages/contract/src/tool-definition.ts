import type { JsonObject, JsonValue } from './json.ts'

/** Where a definition comes from, in order of precedence: the first layer that has a name wins it. */
export const LAYERS = ['user', 'global', 'file'] as const
export type Layer = (typeof LAYERS)[number]

/** How the service runs a tool. A definition without a runner is run by the client's own Runner of that name. */
export const RUNNER_KINDS = ['python', 'builtin', 'workflow', 'http', 'mcp'] as const
export type RunnerKind = (typeof RUNNER_KINDS)[number]

export type ToolRunner = {
  readonly kind: RunnerKind
  readonly workflowName?: string | undefined
  readonly [field: string]: JsonValue | undefined
}

/** Hints about a tool's effects, with the names and defaults that MCP gives them. */
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

/** A tool definition as it is stored and as the definition files hold it. `parameters` is exactly what its author wrote. */
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
  readonly sealed?: boolean | undefined
}
