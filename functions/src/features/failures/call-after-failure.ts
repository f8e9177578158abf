import type { ToolResult } from '@toolrack/contract'
import type {
  Asked,
  Authorised,
  CallOutcome,
  CallRequest,
  Following,
  Invocation,
  ResultData,
  SharedByFollowing,
} from '../../calls/call.ts'
import { limitsOf, type RunParts } from '../../calls/pipeline/run-tool.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'

/** How long all calls after a first failure may take together, in milliseconds. The caller waits for the answer all the time. */
export const STRATEGY_MS_MAX = 300_000

/**
 * The most calls after one first failure. A strategy has at most ten. Each fallback may have a strategy too, so without this
 * bound one call could make hundreds.
 */
export const CALLS_MAX = 16

/** When the job token of a call ends, as in `performance.now()`. Infinite for other calls. `now` is in milliseconds since 1970. */
export function tokenEndMs({ principal }: Authorised, now: () => number): number {
  const { endsAtMs = Infinity } = principal.grant ? principal : {}
  return performance.now() + endsAtMs - now()
}

/** What the calls after the failure of `call` share. `endMs` is when all of them must have ended, as in `performance.now()`. */
export function firstShared({ signal, caller = signal }: Authorised, endMs: number): SharedByFollowing {
  return { callsLeft: CALLS_MAX, endMs, caller, notes: [] }
}

/**
 * The least time for a call after a failure, in milliseconds, unless the usual deadline of the tool is shorter. With less time,
 * most tools would run in vain.
 */
export const LEAST_ATTEMPT_MS = 5_000

/**
 * Makes a call because `call` has failed. It is a call of the whole pipeline, for the same caller and through the same session.
 * It has no idempotency key: that of `call` is claimed until the whole strategy has ended.
 */
export function callAfterFailure(
  { principal, sessionId, signal, headers, invocationId, cutsText, isDryRun, pipeline }: Authorised,
  request: CallRequest,
  following: Following,
  listen: Asked['listen'],
): Promise<Invocation> {
  following.shared.callsLeft -= 1
  return pipeline.invoke({
    principal,
    sessionId,
    signal,
    headers: { ...headers, idempotencyKey: undefined },
    parentInvocationId: invocationId,
    cutsText,
    isDryRun,
    following,
    read: () => request,
    listen,
  })
}

/**
 * The outcome of `call`, made from the outcome of another call that was made for it. `own` is how the run of `call` itself has
 * ended.
 */
export function asOutcomeOf(call: Authorised, made: CallOutcome, own: CallOutcome | undefined): CallOutcome {
  return { ...made, call, own, result: withoutMeta(made.result) }
}

/** The facts of an answer that is given by a fallback of `call`. */
export function byFallback(call: Authorised, made: CallOutcome): Partial<CallOutcome> {
  return { answeredBy: made.answeredBy ?? made.call, fallbackFor: call.entry.name }
}

function withoutMeta(result: ToolResult<ResultData>): ToolResult<ResultData> {
  const { meta: _meta, ...rest } = result as Invocation['result']
  return rest
}

/** The least time that a call of this tool after a failure must have, in milliseconds. */
export function leastMsOf(
  tool: Pick<CatalogEntry, 'howRun' | 'limits'>,
  parts: Pick<RunParts, 'callLimits' | 'deadlineMsMax'>,
): number {
  const { timeoutSeconds = 0 } = limitsOf(tool, parts)
  return Math.min(timeoutSeconds * 1_000, LEAST_ATTEMPT_MS)
}

/** The call with the time that is left for it: longer than usual if it is a retry, and never after the end of all attempts. */
export function inTime(call: Authorised, parts: Pick<RunParts, 'callLimits' | 'deadlineMsMax'>): Authorised {
  const { following, limits } = call
  const { timeoutSeconds } = limitsOf(call, parts)
  if (!following || timeoutSeconds === undefined) return call
  const leftSeconds = Math.max(0.001, (following.shared.endMs - performance.now()) / 1_000)
  const seconds = Math.min(timeoutSeconds * following.timeoutFactor, leftSeconds)
  return { ...call, limits: { ...limits, timeoutSeconds: seconds } }
}
