import { canonicalJson, type Digest, type ErrorCode, type JsonObject } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { AskingRule } from '../../calls/call.ts'

/** How many milliseconds a user has to decide, and after the approval, how many milliseconds the caller has to make the call. */
export const APPROVAL_MS = 15 * 60 * 1_000

/** The time for which an approval that has ended is still shown. */
export const APPROVAL_KEPT_MS = 24 * 60 * 60 * 1_000

/**
 * How long the arguments of an approval are kept after they were written. They are written when the call asks, and when a user
 * edits them. A user has APPROVAL_MS to decide, and the caller APPROVAL_MS to make the call. An `always` and a `session` live
 * longer than their arguments.
 */
export const ARGUMENTS_KEPT_MS = 2 * APPROVAL_MS + APPROVAL_KEPT_MS

/** How long an answer for a session is kept, if the session does not end earlier. After this time, the rule asks again. */
export const SESSION_ANSWER_MS = 30 * 24 * 60 * 60 * 1_000

/** The most approvals of one user. If there are more, the oldest of those that have ended are erased. */
export const APPROVALS_MAX = 200

/** The most bytes of arguments in all approvals of one user. One call may have 256 KB of arguments. */
export const APPROVALS_BYTES_MAX = 8 * 1024 * 1024

export const APPROVAL_STATES = [
  'pending',
  'approved',
  'denied',
  'used',
  'always',
  'session',
  'expired',
] as const

/**
 * - `pending`: nobody has decided.
 * - `approved`: the call may be made once, and was not made yet.
 * - `denied`: the call may not be made.
 * - `used`: the approved call was made.
 * - `always`: the rule that asked is answered for the tool. The answer ends for good when the tool or the rule is changed.
 * - `session`: like `always`, but only for calls through the session of the call.
 * - `expired`: the time to decide or to make the call is over. This state is computed, and not stored.
 */
export type ApprovalState = (typeof APPROVAL_STATES)[number]

/** The rule that asked. `key` is equal for equal rules of the same owner only. */
export type KeptRule = Omit<AskingRule, 'says'> & { readonly key: string }

/** An approval, as it is stored. Times are ISO 8601, UTC. */
export type Approval = {
  readonly id: string
  readonly state: Exclude<ApprovalState, 'expired'>
  readonly tool: string
  readonly digest: Digest
  /**
   * A text for the present state of the called definition. If somebody changes or deletes the definition of that name, its mark
   * changes, and the old mark never comes back. Missing if a layer could not be read: then the approval answers only its own
   * call.
   */
  readonly mark?: string | undefined
  /** The sha256 of the arguments' canonical JSON. */
  readonly argumentsHash: string
  /** The UTF-8 bytes of the arguments, before they are sealed. */
  readonly bytes: number
  readonly asked: KeptRule
  /** The session through which the call was made. If a session is deleted and made again with the same id, it has another key. */
  readonly session?: ApprovedSession | null
  /** The workflow whose job token made the call. */
  readonly workflow: string | null
  readonly createdAt: string
  readonly expiresAt: string
  readonly decidedAt: string | null
  /** The invocationId of the call that has used it. */
  readonly usedBy: string | null
  /** True if the user who approved has replaced the arguments. */
  readonly isEdited: boolean
  /**
   * Set if the call that has asked had edited arguments: the approval with these arguments. A caller knows only the arguments
   * that it has sent, so it sends them again, and this field leads from them to the arguments that the user has seen here.
   */
  readonly after?: string | undefined
}

/** The arguments of an approval: `sent` by the call, and `edited` by the user who approved. */
export type ApprovalArguments = {
  readonly sent: JsonObject
  readonly edited?: JsonObject | undefined
  /** True if the service had no key and has kept `sent` without its secrets. */
  readonly isRedacted?: boolean
}

/** The facts of a call to which an approval is bound. */
export type BoundCall = Pick<Approval, 'tool' | 'digest' | 'argumentsHash' | 'session'>

export type ApprovedSession = { readonly id: string; readonly key: string }

export function argumentsHash(args: JsonObject): string {
  return sha256(canonicalJson(args))
}

export function stateAt(approval: Approval, nowMs: number): ApprovalState {
  const { state } = approval
  return (state === 'pending' || state === 'approved') && isOver(approval, nowMs) ? 'expired' : state
}

/**
 * True if the time to decide or to make the call is over. If the clock that set `expiresAt` was ahead, the approval would be
 * valid for too long. So an `expiresAt` that is more than `2 * APPROVAL_MS` in the future counts as over too.
 */
function isOver({ expiresAt }: Approval, nowMs: number): boolean {
  const endMs = Date.parse(expiresAt)
  return nowMs >= endMs || nowMs < endMs - 2 * APPROVAL_MS
}

export function isErased(approval: Approval, nowMs: number): boolean {
  return nowMs >= eraseAt(approval)
}

/** The time after which an approval is not shown any more, in milliseconds since 1970. An `always` has no end. */
function eraseAt({ state, expiresAt }: Approval): number {
  if (state === 'always') return Infinity
  return Date.parse(expiresAt) + (state === 'session' ? SESSION_ANSWER_MS : APPROVAL_KEPT_MS)
}

/** The time after which none of the approvals is shown any more, in milliseconds since 1970. Null if one of them has no end. */
export function eraseAtMs(approvals: readonly Approval[]): number | null {
  const endMs = Math.max(0, ...approvals.map(eraseAt))
  return endMs === Infinity ? null : endMs
}

export function isFor(approval: Approval, call: BoundCall): boolean {
  const { tool, digest, argumentsHash: hash } = call
  const isEqual = approval.tool === tool && approval.digest === digest && approval.argumentsHash === hash
  return isEqual && isOfSession(approval, call)
}

export function isOfSession(approval: Approval, { session }: Pick<BoundCall, 'session'>): boolean {
  return approval.session?.key === session?.key
}

/** How many bytes of arguments the store still has for the approval. */
export function keptBytes({ bytes, createdAt, decidedAt, isEdited }: Approval, nowMs: number): number {
  const writtenAt = Date.parse((isEdited && decidedAt) || createdAt)
  return nowMs >= writtenAt + ARGUMENTS_KEPT_MS ? 0 : bytes
}

/** The question whether a tool that has failed is called again. No rule has its key, so it answers no rule for always. */
export function failureQuestion(code: ErrorCode, reason: string): KeptRule {
  return { owner: null, rule: null, reason, key: `${FAILED}${code}` }
}

/** The beginning of the key of a question about a failure. The keys of rules are hex digits. */
const FAILED = 'failed '

/** True if the approval was asked for because a call has failed, and not because of a rule. */
export function isAboutFailure({ asked }: Approval): boolean {
  return asked.key.startsWith(FAILED)
}

export function keptRule({ says, ...rule }: AskingRule): KeptRule {
  return { ...rule, key: sha256(JSON.stringify([rule.owner?.kind, rule.owner?.id, says])) }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
