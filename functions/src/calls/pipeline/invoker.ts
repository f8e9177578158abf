import type { InvocationMeta } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import type { Log } from '../../log.ts'
import type { Asked, CallEvent, CallHeaders, Invocation, CallOutcome, Pipeline, Received } from './call.ts'
import type { Next } from './onion.ts'
import { callSteps, type StepParts } from './steps.ts'

export type InvokeParts = StepParts & { readonly log: Log }

/** Runs every call of a tool, from any route, through the steps of `steps.ts`. The result is one ToolResult. */
export class Invoker implements Pipeline {
  readonly #log: Log
  readonly #take: Next<Received>
  #failedAfterAnswer = 0

  /** Tests pass other `steps`. */
  constructor(parts: InvokeParts, steps: typeof callSteps = callSteps) {
    const { log } = parts
    this.#log = log
    this.#take = steps(parts, { log, countAfterNext: () => void (this.#failedAfterAnswer += 1) })
  }

  /** How often a step has failed after the rest of its call had an outcome. The callers got those outcomes. */
  get failedAfterAnswer(): number {
    return this.#failedAfterAnswer
  }

  async invoke({ listen, ...asked }: Asked): Promise<Invocation> {
    const invocationId = randomUUID()
    const { principal, read, headers = NO_HEADERS, parentInvocationId = null, signal } = asked
    const { emit, end } = listen ? eventsTo(listen, invocationId, this.#log) : NO_EVENTS
    const call = { invocationId, parentInvocationId, principal, headers, read, signal, emit, pipeline: this }
    const outcome = await this.#take(call)
    end()
    return { ...outcome, result: { ...outcome.result, meta: metaOf(invocationId, outcome) } }
  }
}

const NO_HEADERS: CallHeaders = { idempotencyKey: undefined, traceparent: undefined }

type Events = { readonly emit: Received['emit']; readonly end: () => void }

const NO_EVENTS: Events = { emit: () => undefined, end: () => undefined }

/** Passes events to a listener until the call has ended or the listener has failed. */
function eventsTo(listen: (event: CallEvent) => unknown, invocationId: string, log: Log): Events {
  let isListening = true
  function end(): void {
    isListening = false
  }
  function fail(error: unknown): void {
    if (isListening) log.warn('listener of a call failed', { invocationId, error: inspect(error) })
    end()
  }
  function emit(event: CallEvent): void {
    if (!isListening) return
    try {
      const heard = listen(event)
      if (heard instanceof Promise) heard.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
  return { emit, end }
}

function metaOf(
  invocationId: string,
  { call, isolation, executionTimeMs, usage, replayed, artifact, approval }: CallOutcome,
): InvocationMeta {
  const meta = {
    invocationId,
    tool: call.entry?.name ?? null,
    digest: call.entry?.digest ?? null,
    revision: call.view?.revision ?? null,
    isolation,
    executionTimeMs,
    resourceUsage: usage,
    replayed,
  }
  if (artifact === null && approval === null) return meta
  return { ...meta, ...(artifact !== null && { artifact }), ...(approval !== null && { approval }) }
}
