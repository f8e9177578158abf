import { isToolrackError, ToolrackError, type JsonObject } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import { APPROVAL_MS, isAboutFailure, isErased, isFor, stateAt } from './approval.ts'
import type { Approval, ApprovalArguments, ApprovalState, KeptRule, BoundCall } from './approval.ts'
import { NOT_SENSITIVE, type Sensitivity } from '../../redaction/sensitive.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { ApprovalStore, PlannedApprovals } from './approval-store.ts'
import { answerOf, isEqual, unanswered, type AskedCall } from './answers.ts'
import { argumentsIn, argumentsToKeep, keptText } from './kept-arguments.ts'
import { plannedTake } from './planned-take.ts'
import { withRoomFor, withRoomForEdited } from './room-for-approval.ts'

/** The facts about a new approval for the operator's webhook. The arguments are not among them. */
export type NewApproval = Pick<Approval, 'id' | 'tool' | 'expiresAt'> & { readonly uid: string }

/** Tells the operator's webhook about a new approval. Never throws and never waits. */
export type Announce = (approval: NewApproval) => void

export type ApprovalParts = {
  readonly store: ApprovalStore
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly announce?: Announce | undefined
  /** Seals the arguments. Without it, the arguments are kept without the texts that are recognized as secrets. */
  readonly sealing?: Sealing | undefined
}

/** A call that a rule asks about. */
export type AskingCall = AskedCall & {
  readonly arguments: JsonObject
  /** The parts of the arguments that the definition of the tool marks as sensitive. */
  readonly marks?: Sensitivity
  /** The stored secrets that the tool gets. */
  readonly stored?: StoredSecrets | undefined
}

export type Decision = {
  /** The answer of the user. `session` is like `always`, but only for calls through the session of the call. */
  readonly decision: 'once' | 'always' | 'session' | 'deny'
  /** Arguments that replace those of the call. Only for `once`. */
  readonly arguments?: JsonObject | undefined
}

/** An approval as a user reads it. */
export type ShownApproval = Omit<Approval, 'state'> & { readonly state: ApprovalState }

/** What would happen to a call that may need an approval. `status` is the present state of the approval. */
export type ForeseenApproval = {
  /** True if the call would wait for a user. */
  readonly isWaiting: boolean
  readonly approval?: { readonly id: string; readonly status: ApprovalState }
}

/** The approvals of all users: how they are asked for, decided and used. */
export class Approvals {
  readonly #parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.#parts = parts
  }

  /**
   * Returns the approval that answers the call for always or for its session. Otherwise returns the pending approval of an equal
   * call, or a new one.
   */
  async ask(call: AskingCall): Promise<Approval | undefined> {
    const { store, now, announce, sealing } = this.#parts
    const nowMs = now()
    const answer = answerOf(await store.read(call.uid), call, nowMs)
    if (answer) return answer
    // The id is chosen outside the plan, because a plan can run several times.
    const id = randomUUID()
    const kept = argumentsToKeep(call.arguments, call.marks ?? NOT_SENSITIVE, sealing, call.stored)
    const put = { id, text: keptText(kept, { uid: call.uid, id }, sealing) }
    const approval = await store.change<Approval | undefined>(call.uid, nowMs, (known) => {
      const asked = unanswered(known, call, nowMs)
      if (!asked) return { result: answerOf(known, call, nowMs) }
      const equal = known.find((one) => isEqual(one, call) && stateAt(one, nowMs) === 'pending')
      if (equal) return { result: equal }
      const approval = newApproval(id, call, asked, nowMs)
      const { kept: others, dropped } = withRoomFor(known, approval, nowMs)
      return { result: approval, change: { approvals: [...others, approval], put, dropped } }
    })
    if (approval?.id === id)
      announce?.({ id, uid: call.uid, tool: approval.tool, expiresAt: approval.expiresAt })
    return approval
  }

  /**
   * Takes an approval for a call that is about to run. If several calls name the approval, exactly one gets it. Returns the
   * approval. If it is still `pending`, the call must wait. An `always` lets the call run only if every rule that asks about the
   * call is answered. Throws APPROVAL_NOT_FOUND, APPROVAL_CONFLICT, APPROVAL_EXPIRED or APPROVAL_DENIED, or the error of the
   * store.
   */
  async take(id: string, call: AskedCall, invocationId: string): Promise<Approval> {
    try {
      return await this.#take(id, call, invocationId)
    } catch (error) {
      // The store may have used the approval up although its answer was lost. Nobody waits for the attempt to give it back.
      if (!isRefusal(error)) void this.giveBack(call.uid, id, invocationId).catch(() => undefined)
      throw error
    }
  }

  #take(id: string, call: AskedCall, invocationId: string): Promise<Approval> {
    const nowMs = this.#parts.now()
    return this.#parts.store.change(call.uid, nowMs, (known) =>
      plannedTake(known, id, call, invocationId, nowMs),
    )
  }

  /**
   * Says what `ask` would return for a call, or `take` if the call names an approval. Nothing is asked, and no approval is used
   * up. Throws as `take` does.
   */
  async foresee(call: AskedCall, id: string | undefined): Promise<ForeseenApproval> {
    const { store, now } = this.#parts
    const nowMs = now()
    const known = await store.read(call.uid)
    if (id !== undefined) {
      const { state } = plannedTake(known, id, call, '', nowMs).result
      // `plannedTake` returns `used` for an approval that is `approved` at present.
      return {
        isWaiting: state === 'pending',
        approval: { id, status: state === 'used' ? 'approved' : state },
      }
    }
    const answer = answerOf(known, call, nowMs)
    return answer
      ? { isWaiting: false, approval: { id: answer.id, status: answer.state } }
      : { isWaiting: true }
  }

  /** Makes the approval of a call usable again. The call was certainly not run. */
  async giveBack(uid: string, id: string, invocationId: string): Promise<void> {
    await this.#parts.store.change(uid, this.#parts.now(), (known) => {
      const found = known.find((one) => one.id === id && one.state === 'used' && one.usedBy === invocationId)
      if (!found) return { result: undefined }
      const approvals = replaced(known, { ...found, state: 'approved', usedBy: null })
      return { result: undefined, change: { approvals } }
    })
  }

  /**
   * The edited arguments of an approval. Undefined if the user has not edited them, or if the approval is for another call.
   * Throws APPROVAL_CONFLICT if they cannot be read: the call must not run with the arguments that were sent.
   */
  async editedArguments(uid: string, id: string, call: BoundCall): Promise<JsonObject | undefined> {
    const { store } = this.#parts
    const found = (await store.read(uid)).find((one) => one.id === id)
    if (!found?.isEdited || !isFor(found, call)) return undefined
    const { edited } = (await this.#arguments(uid, id)) ?? {}
    if (!edited) throw new ToolrackError('APPROVAL_CONFLICT', UNREADABLE)
    return edited
  }

  /**
   * The approval whose edited arguments the call had that has asked for this approval. Undefined if there is none, or if the
   * approval is for the call as it was sent.
   */
  async editedBefore(uid: string, id: string, call: BoundCall): Promise<string | undefined> {
    const found = (await this.#parts.store.read(uid)).find((one) => one.id === id)
    return found && !isFor(found, call) ? found.after : undefined
  }

  /** A user's approvals, the newest first. */
  async list(uid: string): Promise<readonly ShownApproval[]> {
    const nowMs = this.#parts.now()
    const known = await this.#parts.store.read(uid)
    return known.flatMap((one) => (isErased(one, nowMs) ? [] : shown(one, nowMs))).toReversed()
  }

  /**
   * An approval with its arguments, which may hold secrets. Throws APPROVAL_NOT_FOUND, or APPROVAL_CONFLICT if the arguments
   * cannot be read or are no longer kept.
   */
  async find(uid: string, id: string): Promise<ShownApproval & { readonly arguments: ApprovalArguments }> {
    const found = await this.#find(uid, id)
    const args = await this.#arguments(uid, id)
    if (!args) throw new ToolrackError('APPROVAL_CONFLICT', NOT_KEPT)
    return { ...found, arguments: args }
  }

  /** As `find`, but without the arguments if they cannot be read. Without them, the approval can still be denied and canceled. */
  async findReadable(
    uid: string,
    id: string,
  ): Promise<ShownApproval & { readonly arguments?: ApprovalArguments }> {
    const found = await this.#find(uid, id)
    try {
      const args = await this.#arguments(uid, id)
      return args ? { ...found, arguments: args } : found
    } catch (error) {
      if (isRefusal(error)) return found
      throw error
    }
  }

  async #find(uid: string, id: string): Promise<ShownApproval> {
    const found = (await this.list(uid)).find((one) => one.id === id)
    if (!found) throw new ToolrackError('APPROVAL_NOT_FOUND')
    return found
  }

  /**
   * Decides a pending approval. Throws APPROVAL_NOT_FOUND, APPROVAL_CONFLICT or APPROVAL_EXPIRED. Throws SERVICE_BUSY if there is
   * no room for edited arguments.
   */
  async decide(uid: string, id: string, { decision, arguments: edited }: Decision): Promise<ShownApproval> {
    const nowMs = this.#parts.now()
    const { sealing } = this.#parts
    const kept = edited && (await this.find(uid, id)).arguments
    const put = kept && { id, text: keptText({ ...kept, edited }, { uid, id }, sealing) }
    return this.#parts.store.change(uid, nowMs, (known): PlannedApprovals<ShownApproval> => {
      const found = undecided(known, id, nowMs)
      if (decision === 'session' && !found.session) throw new ToolrackError('APPROVAL_CONFLICT', NO_SESSION)
      const isAnswer = decision === 'always' || decision === 'session'
      if (isAnswer && isAboutFailure(found)) throw new ToolrackError('APPROVAL_CONFLICT', ONE_FAILURE)
      if (isAnswer && found.mark === undefined) throw new ToolrackError('APPROVAL_CONFLICT', NO_MARK)
      const decided: Approval = {
        ...found,
        state: STATE_AFTER[decision],
        decidedAt: isoTime(nowMs),
        // The time to make the call begins with the decision.
        expiresAt: decision === 'once' ? isoTime(nowMs + APPROVAL_MS) : found.expiresAt,
        isEdited: edited !== undefined,
        bytes: found.bytes + (edited ? bytesOf(edited) : 0),
      }
      const ended = isAnswer ? known.filter((one) => isEndedBy(one, found)) : []
      const approvals = replaced(known, decided).filter((one) => !ended.includes(one))
      const dropped = ended.map(({ id: one }) => one)
      const change = put ? { put, ...withRoomForEdited(approvals, decided, nowMs) } : { approvals, dropped }
      return { result: shown(decided, nowMs), change }
    })
  }

  /**
   * To be called when a session has ended. Forgets the answers for the session, and approvals of its calls that were not used.
   */
  async forgetSession(uid: string, key: string): Promise<void> {
    const { store, now } = this.#parts
    const isOf = (one: Approval): boolean => one.session?.key === key && OF_LIVING.has(one.state)
    if (!(await store.read(uid)).some(isOf)) return
    await store.change(uid, now(), (known) => {
      const dropped = known.filter(isOf).map(({ id }) => id)
      return { result: undefined, change: { approvals: known.filter((one) => !isOf(one)), dropped } }
    })
  }

  /**
   * The arguments of an approval. Undefined if the store has none. Throws APPROVAL_CONFLICT if they were sealed with another key,
   * or were changed in the store.
   */
  async #arguments(uid: string, id: string): Promise<ApprovalArguments | undefined> {
    const { store, sealing } = this.#parts
    const text = await store.arguments(uid, id)
    if (text === undefined) return undefined
    const args = argumentsIn(text, { uid, id }, sealing)
    if (!args) throw new ToolrackError('APPROVAL_CONFLICT', UNREADABLE)
    return args
  }

  /** Cancels an approval that no call has used, or forgets an answer for always or for a session. Throws as `decide` does. */
  async remove(uid: string, id: string): Promise<void> {
    const nowMs = this.#parts.now()
    await this.#parts.store.change(uid, nowMs, (known) => {
      const found = known.find((one) => one.id === id)
      if (!found || !REMOVABLE.has(found.state)) undecided(known, id, nowMs)
      const approvals = known.filter((one) => one.id !== id)
      return { result: undefined, change: { approvals, dropped: [id] } }
    })
  }
}

const STATE_AFTER = { once: 'approved', always: 'always', session: 'session', deny: 'denied' } as const

/**
 * The states of approvals that are forgotten when their session ends, because only calls through it could use them. Approvals in
 * other states stay readable until they are erased.
 */
const OF_LIVING = new Set<ApprovalState>(['pending', 'approved', 'session'])

const REMOVABLE = new Set<ApprovalState>(['always', 'session', 'approved'])

const ONE_FAILURE =
  'The approval is about one call that has failed, so it cannot be answered for always or for a session. Decide "once" or "deny".'

const NO_SESSION =
  'The call was made through no session, so it cannot be answered for its session. Decide "once" or "always".'

const NO_MARK =
  'A layer that may define the tool could not be read when the call was made, so the call cannot be answered for always. Decide "once", or make the call again.'

const UNREADABLE =
  'The arguments of the approval cannot be read: the service has another sealing key than when it kept them, or they were changed in its store. Nothing was run. Cancel the approval, and make the call without it to ask again.'

const NOT_KEPT =
  'The arguments of the approval are no longer kept: they are erased a day after the decision. The approval itself can be cancelled.'

function newApproval(id: string, call: AskingCall, asked: KeptRule, nowMs: number): Approval {
  const { tool, digest, mark, argumentsHash, workflow, session = null, after } = call
  return {
    id,
    state: 'pending',
    tool,
    digest,
    mark,
    argumentsHash,
    bytes: bytesOf(call.arguments),
    asked,
    session,
    workflow,
    createdAt: isoTime(nowMs),
    expiresAt: isoTime(nowMs + APPROVAL_MS),
    decidedAt: null,
    usedBy: null,
    isEdited: false,
    ...(after !== undefined && { after }),
  }
}

/**
 * True if `one` is an older answer about the same tool, and the definition was changed between the two answers. Then `one` can
 * never be used again.
 */
function isEndedBy(one: Approval, { tool, mark, createdAt }: Approval): boolean {
  const isAnswer = one.state === 'always' || one.state === 'session'
  return isAnswer && one.tool === tool && one.mark !== mark && (one.decidedAt ?? '') < createdAt
}

/** True if the error refuses this approval. An error of the store does not. */
function isRefusal(error: unknown): boolean {
  return isToolrackError(error) && error.code.startsWith('APPROVAL_')
}

function undecided(known: readonly Approval[], id: string, nowMs: number): Approval {
  const found = known.find((one) => one.id === id && !isErased(one, nowMs))
  if (!found) throw new ToolrackError('APPROVAL_NOT_FOUND')
  const state = stateAt(found, nowMs)
  if (state === 'expired') throw new ToolrackError('APPROVAL_EXPIRED', 'The approval has expired.')
  if (state !== 'pending') throw new ToolrackError('APPROVAL_CONFLICT', `The approval is ${state} already.`)
  return found
}

function shown(approval: Approval, nowMs: number): ShownApproval {
  return { ...approval, state: stateAt(approval, nowMs) }
}

function replaced(known: readonly Approval[], by: Approval): readonly Approval[] {
  return known.map((one) => (one.id === by.id ? by : one))
}

function bytesOf(args: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(args))
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
