import { strategiesOf, toolFailure, type OnFailure } from '@toolrack/contract'
import { outcomeOf, type Authorised, type CallOutcome, type CallRequest } from '../../calls/call.ts'
import { hasRunNothing } from '../../calls/nothing-run.ts'
import type { Next, Step } from '../../calls/onion.ts'
import type { Approvals } from '../approvals/approvals.ts'
import {
  asOutcomeOf,
  byFallback,
  callAfterFailure,
  firstShared,
  STRATEGY_MS_MAX,
  tokenEndMs,
} from './call-after-failure.ts'
import { planFallback } from './fallback-request.ts'

export type ResumeParts = {
  readonly approvals?: Pick<Approvals, 'list'> | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Calls the fallback of a tool, for a call of the tool that names an approval of the fallback. The tool has failed before, so it
 * is not run. The steps of the fallback's call check the approval, and use it up. Other calls pass this step.
 */
export function resumeFallback(parts: ResumeParts): Step<Authorised> {
  return (call, next) => (call.request.approval === undefined ? next(call) : resumedOr(next, parts, call))
}

async function resumedOr(next: Next<Authorised>, parts: ResumeParts, call: Authorised): Promise<CallOutcome> {
  return (await resumed(parts, call)) ?? next(call)
}

/** Calls the fallback, if the call names an approval of one. The call of the fallback is a dry run if `call` is one. */
export async function resumed(
  { approvals, now }: ResumeParts,
  call: Authorised,
): Promise<CallOutcome | undefined> {
  const { principal, request: sent, entry, following: made, invocationId, isHeard, emit } = call
  if (!approvals || sent.approval === undefined || !entry.onFailure || made) return undefined
  const approval = (await approvals.list(principal.uid)).find(({ id }) => id === sent.approval)
  if (!approval || approval.tool === entry.name) return undefined
  const request = requestOf(call, entry.onFailure, approval.tool)
  if (!request) return undefined
  const endMs = Math.min(performance.now() + STRATEGY_MS_MAX, tokenEndMs(call, now))
  const shared = firstShared(call, endMs)
  const following = { as: 'fallback', failed: [entry.name], timeoutFactor: 1, shared } as const
  const answered = await callAfterFailure(
    call,
    { ...request, approval: approval.id },
    following,
    isHeard ? (event) => emit(event.type === 'start' ? { type: 'start', invocationId } : event) : undefined,
  )
  const own = outcomeOf(call, toolFailure('APPROVAL_REQUIRED', 'Its fallback was called, and not the tool.'))
  const mayHaveRun = !hasRunNothing(answered)
  return { ...asOutcomeOf(call, answered, own), ...byFallback(call, answered), mayHaveRun }
}

function requestOf(call: Authorised, onFailure: OnFailure, tool: string): CallRequest | undefined {
  for (const fallback of strategiesOf(onFailure).flatMap(({ fallbackTools = [] }) => fallbackTools)) {
    const planned = planFallback(call, [call.entry.name], fallback)
    if ('target' in planned && planned.target.name === tool) return planned.request
  }
  return undefined
}
