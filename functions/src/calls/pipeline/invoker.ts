import type { InvocationMeta } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { usedGrants } from '../used-grants.ts'
import type { Log } from '../../log.ts'
import type { Asked, CallEvent, CallHeaders, CallOutcome, Invocation, Pipeline, Received } from '../call.ts'
import type { Next } from '../onion.ts'
import { callSteps, type StepParts } from './steps.ts'

export type InvokeParts = StepParts & { readonly log: Log }

/** Runs every call of a tool, from any route, through the steps of `steps.ts`. */
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

  /** The number of steps that failed after `next`. The callers got the outcomes of the inner steps. */
  get failedAfterAnswer(): number {
    return this.#failedAfterAnswer
  }

  async invoke({ listen, ...asked }: Asked): Promise<Invocation> {
    const invocationId = randomUUID()
    const {
      principal,
      read,
      headers = NO_HEADERS,
      sessionId,
      isDryRun = false,
      cutsText,
      parentInvocationId = null,
      following,
      signal,
      tellLimits,
    } = asked
    const { emit, end } = eventsTo(listen, invocationId, this.#log)
    const isHeard = listen !== undefined
    const call = {
      invocationId,
      parentInvocationId,
      following,
      principal,
      headers,
      sessionId,
      isDryRun,
      cutsText,
      read,
      signal,
      isHeard,
      emit,
      tellLimits,
    }
    const outcome = await this.#take({ ...call, pipeline: this })
    end()
    return { ...outcome, result: { ...outcome.result, meta: metaOf(invocationId, outcome) } }
  }
}

const NO_HEADERS: CallHeaders = { idempotencyKey: undefined, traceparent: undefined }

/** Passes events to the listener, if there is one, until the call has ended or the listener has failed. */
function eventsTo(listen: Asked['listen'], invocationId: string, log: Log) {
  let listener = listen
  function end(): void {
    listener = undefined
  }
  function fail(error: unknown): void {
    if (listener) log.warn('listener of a call failed', { invocationId, error: inspect(error) })
    end()
  }
  function emit(event: CallEvent): Promise<void> | undefined {
    try {
      const returned = listener?.(event)
      if (returned instanceof Promise) return returned.then(() => undefined, fail)
    } catch (error) {
      fail(error)
    }
    return undefined
  }
  return { emit, end }
}

function metaOf(invocationId: string, outcome: CallOutcome): InvocationMeta {
  const { isolation, executionTimeMs, usage, reused, replayed, artifact, approval, consent } = outcome
  const { attempts, fallbackFor, degraded } = outcome
  const answered = outcome.answeredBy ? { ...outcome, call: outcome.answeredBy } : outcome
  const { call } = answered
  const grants = usedGrants(answered)
  return {
    invocationId,
    tool: call.entry?.name ?? null,
    digest: call.entry?.digest ?? null,
    revision: call.view?.revision ?? null,
    isolation,
    executionTimeMs,
    resourceUsage: usage,
    replayed,
    ...(reused !== undefined && { reused }),
    ...(artifact !== null && { artifact }),
    ...(attempts !== undefined && { attempts }),
    ...(fallbackFor !== undefined && { fallbackFor }),
    ...(degraded !== undefined && { degraded }),
    ...(approval !== null && { approval }),
    ...(consent && { consent }),
    ...(call.decision && call.decision.owner !== null && { decision: call.decision }),
    ...(grants && { grants }),
  }
}
