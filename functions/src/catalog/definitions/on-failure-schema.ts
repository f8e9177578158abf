import { aliasOf, FAILURE_KINDS, isJsonObject, strategiesOf } from '@toolrack/contract'
import type { FailureStrategy, JsonObject, OnFailure } from '@toolrack/contract'
import type { z as Zod } from 'zod'

/** The most retries after a failure. What has failed six times in a row is broken, and a caller waits for all of them. */
export const RETRIES_MAX = 5
/** The longest first wait before a retry, in milliseconds. A caller waits for the answer as long as for a usual call. */
export const BACKOFF_MS_MAX = 30_000
/** How many times as long as the call before it a retry may take at most. */
export const TIMEOUT_FACTOR_MAX = 10
/** The most fallbacks of a strategy. Each of them is a whole call. */
export const FALLBACKS_MAX = 5
/** Makes the schema of the field `onFailure`. `name` is the schema of the name of a tool. */
export function onFailureSchema(z: typeof Zod, name: Zod.ZodString) {
  const parameter = z.string().min(1).max(256)
  const retry = z
    .strictObject({
      times: z
        .int()
        .min(0)
        .max(RETRIES_MAX)
        .describe('How often the tool is called again. 0: this kind of failure has no retries.'),
      backoffMs: z
        .int()
        .min(0)
        .max(BACKOFF_MS_MAX)
        .optional()
        .describe('The milliseconds before the first retry; each next wait is twice as long.'),
      timeoutFactor: z
        .number()
        .min(1)
        .max(TIMEOUT_FACTOR_MAX)
        .optional()
        .describe('A retry may take so many times as long as the call before it.'),
    })
    .describe('Calls the tool again, if it has not run, or says idempotentHint: true.')
  const fallbackTool = z.strictObject({
    name,
    args: z
      .record(parameter, parameter)
      .optional()
      .describe(
        'The own parameter for each parameter of the fallback. Without it the fallback gets all arguments under their names.',
      ),
  })
  const strategy = {
    retry,
    fallbackTools: z
      .array(fallbackTool)
      .max(FALLBACKS_MAX, `has more than ${FALLBACKS_MAX} tools`)
      .describe('Tools that are called in its place, in this order, until one of them answers.'),
    ask: z.boolean().describe('Whether a person is asked to approve another call of the tool.'),
    degraded: z.boolean().describe('Whether what it has yielded or printed before is a partial result.'),
  }
  const ofKind = z.strictObject(strategy).partial().optional()
  const ofKinds = Object.fromEntries(FAILURE_KINDS.map((kind) => [kind, ofKind])) as Record<
    (typeof FAILURE_KINDS)[number],
    typeof ofKind
  >
  return z
    .strictObject({ ...z.strictObject(strategy).partial().shape, ...ofKinds })
    .describe('What the service does after a failure of the tool.')
}

type Definition = {
  readonly function: { readonly name: string; readonly parameters: JsonObject }
  readonly onFailure?: OnFailure | undefined
}

/** A fault of a strategy that depends on the rest of the definition. `path` begins inside `onFailure`. */
export type OnFailureFault = { readonly path: readonly PropertyKey[]; readonly message: string }

/** Finds fallbacks to the tool itself, fallbacks that are named twice, and parameters that the tool does not have. */
export function* onFailureFaults({ function: fn, onFailure }: Definition): Generator<OnFailureFault> {
  if (!onFailure) return
  const { properties } = fn.parameters
  const parameters = new Set(isJsonObject(properties) ? Object.keys(properties) : [])
  const paths = [[], ...FAILURE_KINDS.filter((kind) => onFailure[kind]).map((kind) => [kind])]
  for (const [at, strategy] of strategiesOf(onFailure).entries())
    for (const fault of faultsOf(strategy, fn.name, parameters))
      yield { ...fault, path: [...(paths[at] ?? []), 'fallbackTools', ...fault.path] }
}

function* faultsOf(
  { fallbackTools = [] }: FailureStrategy,
  own: string,
  parameters: ReadonlySet<string>,
): Generator<OnFailureFault> {
  for (const [index, { name, args = {} }] of fallbackTools.entries()) {
    // A tool can be named by its alias too.
    const alias = aliasOf(name)
    if (alias === aliasOf(own))
      yield { path: [index, 'name'], message: 'is the tool itself or its alias; use retry to call it again' }
    if (fallbackTools.findIndex((one) => aliasOf(one.name) === alias) < index)
      yield { path: [index, 'name'], message: 'is named twice; a fallback is called once' }
    for (const [parameter, from] of Object.entries(args))
      if (!parameters.has(from))
        yield {
          path: [index, 'args', parameter],
          message: 'is not a parameter of this tool; it must be one of the properties of its parameters',
        }
  }
}
