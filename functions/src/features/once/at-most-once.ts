import { canonicalJson, toolFailure, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { hash } from 'node:crypto'
import { outcomeOf, type CallOutcome, type Resolved } from '../../calls/call.ts'
import type { Next, Step } from '../../calls/onion.ts'
import { deadlineOf, type RunParts } from '../../calls/pipeline/run-tool.ts'
import type { CallKey, CallKeys, Claim, KeptCall } from './idempotency-keys.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { Principal } from '../../access/principal.ts'
import { STRATEGY_MS_MAX } from '../failures/call-after-failure.ts'
import { outcomeIn, outcomeToKeep, type ResultPlace } from './kept-outcome.ts'
import { resultOf, storedOutcome } from './stored-outcome.ts'

export type OnceParts = Pick<RunParts, 'callLimits' | 'deadlineMsMax'> & {
  readonly keys: CallKeys
  /** Seals the results. Without it, a result in which a secret is recognized is not kept. */
  readonly sealing?: Sealing | undefined
}

/**
 * How much longer than the deadline of its call a lease is, in milliseconds. It covers 10 s for a runner that starts, 3 s more
 * for its answer, and 2 s for each of several accesses to the store. If a call takes longer nevertheless, it does not run twice,
 * because a key stays claimed after its lease has ended.
 */
const LEASE_GRACE_MS = 30_000

/** How many seconds a caller should wait before asking again for the result of a call that still runs. */
const IN_FLIGHT_SECONDS = 1

/**
 * Runs a call with an `Idempotency-Key` at most once. The key is claimed before the inner steps begin. The outcome is kept, and
 * answers later calls with the key. Calls without a key pass this step, and so do calls that the service does not run.
 */
export function atMostOnce<Call extends Resolved>(parts: OnceParts): Step<Call> {
  return (call, next) =>
    call.headers.idempotencyKey === undefined || call.entry.callable !== 'service'
      ? next(call)
      : runOnce(call, next, call.headers.idempotencyKey, parts)
}

async function runOnce<Call extends Resolved>(
  call: Call,
  next: Next<Call>,
  header: string,
  parts: OnceParts,
): Promise<CallOutcome> {
  const { keys, sealing, deadlineMsMax, callLimits } = parts
  const { invocationId: owner, limits, principal } = call
  const hash = hashOf(call)
  const key = keyOf(principal, header)
  const strategyMs = call.entry.onFailure ? STRATEGY_MS_MAX : 0
  const leaseMs = deadlineOf(limits, deadlineMsMax, callLimits?.deadlineMs) + LEASE_GRACE_MS + strategyMs
  const kept = await claimed(keys, key, { hash, owner, leaseMs })
  const place = { uid: key.uid, id: key.id, hash }
  const approved = kept && (await approvedHeader(kept, hash, header, call, keys))
  if (approved !== undefined) return runOnce(call, next, approved, parts)
  if (kept) return answerKept(call, hash, opened(kept, place, sealing))
  // A caller who has a key comes back for the result. So the call is not ended when the connection is lost.
  const outcome = await next({ ...call, signal: new AbortController().signal, caller: call.signal })
  const stored = storedOutcome(outcome)
  await (stored
    ? keys.complete(key, owner, outcomeToKeep(stored, call, place, sealing))
    : keys.release(key, owner))
  return outcome
}

/**
 * The key under which a call runs that has failed and then waited for the approval which it names now. It is made of the key and
 * the approval, so the approved call runs at most once too. No header contains a line feed, so the key equals no other. If the
 * approved call has failed and waits too, the key of the next approval is made of this one. Undefined for any other call.
 */
async function approvedHeader(
  kept: KeptCall,
  hash: string,
  header: string,
  { principal, request }: Resolved,
  keys: CallKeys,
): Promise<string | undefined> {
  const waitsFor = waitingIn(kept, hash)
  if (request.approval === undefined || waitsFor === undefined) return undefined
  const approved = `${header}\napproval ${waitsFor}`
  // With another approval, nothing may be claimed: only a call that was approved before can wait for the other one.
  const isKnown = request.approval === waitsFor || (await keys.read(keyOf(principal, approved))) !== undefined
  return isKnown ? approved : undefined
}

/** The approval for which the call with the key waits, because it has failed. */
function waitingIn(kept: KeptCall, hash: string): string | undefined {
  if (kept.hash !== hash || kept.state !== 'ended' || kept.outcome.kind !== 'failure') return undefined
  return kept.outcome.approval?.id
}

/** A user and a job with the same header have different keys, because their routes are separate. */
function keyOf({ uid, kind }: Principal, header: string): CallKey {
  return { uid, id: sha256(`${kind}\n${header}`) }
}

async function claimed(keys: CallKeys, key: CallKey, claim: Claim): Promise<KeptCall | undefined> {
  try {
    return await keys.claim(key, claim)
  } catch (error) {
    // The claim may have been made although its answer was lost. Nobody waits for the attempt to take it back.
    void keys.release(key, claim.owner).catch(() => undefined)
    throw error
  }
}

function opened(kept: KeptCall, place: ResultPlace, sealing: Sealing | undefined): KeptCall {
  return kept.state === 'ended' ? { ...kept, outcome: outcomeIn(kept.outcome, place, sealing) } : kept
}

/** The answer to a call whose key is already claimed. Nothing is run. */
function answerKept(call: Resolved, hash: string, kept: KeptCall): CallOutcome {
  if (kept.hash !== hash) throw new ToolrackError('IDEMPOTENCY_CONFLICT', OTHER_CALL)
  if (kept.state === 'ended') {
    const { result, artifact } = resultOf(kept.outcome)
    // UNKNOWN_OUTCOME is about the key. It is not the result of the earlier call.
    const isUnknown = result.resultType === 'failure' && result.code === 'UNKNOWN_OUTCOME'
    const { approval = null } = kept.outcome.kind === 'failure' ? kept.outcome : {}
    return { ...outcomeOf(call, result), artifact, approval, replayed: !isUnknown }
  }
  const [code, text, retryAfterSeconds] = UNENDED[kept.state]
  return { ...outcomeOf(call, toolFailure(code, text)), retryAfterSeconds }
}

const OTHER_CALL =
  'The Idempotency-Key was used for another tool, other arguments or another session; nothing was run. Use a new key for a new call.'

const UNENDED: Readonly<
  Record<
    'running' | 'lost' | 'dropped',
    readonly [code: ErrorCode, text: string, retryAfterSeconds: number | null]
  >
> = {
  running: [
    'CALL_IN_FLIGHT',
    'The call with this Idempotency-Key still runs. Ask again with the same key for its result.',
    IN_FLIGHT_SECONDS,
  ],
  lost: [
    'UNKNOWN_OUTCOME',
    'The service was lost during the call with this Idempotency-Key, so its outcome is not known; the tool may have run. Look before you repeat it with a new key.',
    null,
  ],
  dropped: [
    'UNKNOWN_OUTCOME',
    'The call with this Idempotency-Key has ended, but its result is no longer kept, because newer results took its room. Nothing was run again.',
    null,
  ],
}

/** A hash of a call: the tool's name, the arguments as they were sent, and the session, if there is one. */
function hashOf({ entry, request, session }: Resolved): string {
  const sent = request.sentArguments ?? request.arguments
  return sha256(canonicalJson([entry.name, sent, session?.id ?? null]))
}

function sha256(text: string): string {
  return hash('sha256', text)
}
