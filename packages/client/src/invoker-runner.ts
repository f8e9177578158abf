import { isJsonObject } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import type { Runner, RunnerContext } from './runner.ts'

/** What a workflow gets for one call. */
export type WorkflowInput = { readonly name: string; readonly arguments: JsonObject }

/** A workflow behind HTTP: it is sent a WorkflowInput by POST, and answers JSON or a text. */
export type WorkflowEndpoint = {
  readonly url: string | URL
  /** Such as Authorization; a function is asked for each call. */
  readonly headers?:
    Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>) | undefined
  readonly fetch?: typeof fetch | undefined
}

export type InvokerRunnerOptions = Pick<Runner, 'name' | 'definition'> & {
  readonly workflow: ((input: WorkflowInput, context: RunnerContext) => unknown) | WorkflowEndpoint
}

/** A Runner for a tool that a workflow runs: a function, or an endpoint. An endpoint is asked once; a status of 400 or more is a failure. */
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
    const answer = parsed(await response.text())
    if (response.ok) return answer
    throw new Error(`the workflow answered ${response.status}${errorIn(answer)}`)
  }
}

/** JSON where it is that, else the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function errorIn(answer: unknown): string {
  const error = isJsonObject(answer) ? answer['error'] : undefined
  const message = isJsonObject(error) ? error['message'] : error
  return typeof message === 'string' ? `: ${message}` : ''
}
