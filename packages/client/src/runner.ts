import { isJsonObject, isToolName, parsedJson } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { ByName } from './by-name.ts'
import { ToolsError } from './errors.ts'

/** What a Runner gets to know about a call besides the arguments. */
export type RunnerContext = {
  /** The name in the model's call, which can be the alias of the tool. */
  readonly name: string
  /** The id that pairs the call with its answer. Undefined if the model has sent no id. */
  readonly id: string | undefined
  /** A signal that is aborted at the deadline, and when the caller's signal is aborted. */
  readonly signal: AbortSignal
}

/**
 * A tool that runs in this program. `Args` is the type of the arguments of `run`. At run time they are not checked against this
 * type.
 */
export type Runner<Args extends object = JsonObject> = {
  /** The `function.name` of the tool's definition. */
  readonly name: string
  /**
   * The tool's definition. Its `function.name` must equal `name`. With a definition, null arguments that mean "omitted" are
   * removed.
   */
  readonly definition?: Pick<ToolDefinition, 'function'> | undefined
  /**
   * Runs one call. A string that it returns is sent to the model unchanged. Of a ToolResult, the model gets the text. Any other
   * value is sent as JSON. If `run` throws, the model gets a failure.
   */
  readonly run: (args: Args, context: RunnerContext) => unknown
}

/** A Runner for arguments of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- `any` is the only type that takes Runners of all types of arguments
export type AnyRunner = Runner<any>

/**
 * Finds Runners by name. Throws OPTION_INVALID if a name is not allowed, if it differs from the name in the definition, or if two
 * Runners have the same name.
 */
export function runnersByName(runners: readonly AnyRunner[]): ByName<Runner> {
  const names = new Set<string>()
  for (const [index, runner] of runners.entries()) {
    const { name, definition = { function: { name } } } = runner
    if (!isToolName(name)) throw unusable(index, 'no tool can have its name')
    if (names.has(name)) throw unusable(index, `another one is named ${name}`)
    if (definition.function.name !== name)
      throw unusable(index, `it is named ${name}, but its definition has another name`)
    names.add(name)
  }
  return new ByName(runners.map((runner) => [runner.name, runner]))
}

function unusable(index: number, fault: string): ToolsError {
  return new ToolsError('OPTION_INVALID', `Runner ${index} cannot be used: ${fault}.`)
}

/** What a workflow gets for one call. */
export type WorkflowInput = { readonly name: string; readonly arguments: JsonObject }

/** A workflow that is started over HTTP. It gets a WorkflowInput by POST, and answers with JSON or a text. */
export type WorkflowEndpoint = {
  readonly url: string | URL
  /** Headers such as Authorization. If it is a function, it is called for each request. */
  readonly headers?:
    Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>) | undefined
  readonly fetch?: typeof fetch | undefined
}

export type InvokerRunnerOptions = Pick<Runner, 'name' | 'definition'> & {
  readonly workflow: ((input: WorkflowInput, context: RunnerContext) => unknown) | WorkflowEndpoint
}

/**
 * Makes a Runner that calls a workflow. If the workflow is an endpoint, it gets only one request for each call. If it answers
 * with a status other than 2xx, the result is a failure.
 */
export function invokerRunner({ name, definition, workflow }: InvokerRunnerOptions): Runner {
  const invoke = typeof workflow === 'function' ? workflow : endpointWorkflow(workflow)
  return { name, definition, run: (args, context) => invoke({ name, arguments: args }, context) }
}

function endpointWorkflow({ url, headers, fetch = globalThis.fetch }: WorkflowEndpoint) {
  return async function invoke(input: WorkflowInput, { signal }: RunnerContext): Promise<unknown> {
    const own = typeof headers === 'function' ? await headers() : headers
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...own },
      body: JSON.stringify(input),
      signal,
    })
    const text = await response.text()
    const body = parsedJson(text)
    const answer = body === undefined ? text : body
    if (response.ok) return answer
    throw new Error(`the workflow answered ${response.status}${errorIn(answer)}`)
  }
}

function errorIn(answer: unknown): string {
  const error = isJsonObject(answer) ? answer['error'] : undefined
  const message = isJsonObject(error) ? error['message'] : error
  return typeof message === 'string' ? `: ${message}` : ''
}
