import { strategiesOf, strategyFor, toolFailure, type OnFailure } from '@toolrack/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import type {
  Authorised,
  CallEvent,
  CallOutcome,
  CallRequest,
  Following,
  Invocation,
} from '../../calls/call.ts'
import { hasRunNothing } from '../../calls/nothing-run.ts'
import type { Next } from '../../calls/onion.ts'
import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import { definitionOf, type CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { Log } from '../../log.ts'
import { foreseeApproval, type ApprovalStepParts } from '../approvals/approval-steps.ts'
import { askPerson } from './ask-person.ts'
import { failureKindOf } from './failure-kind.ts'
import type { Backoffs } from './backoffs.ts'
import {
  asOutcomeOf,
  byFallback,
  callAfterFailure,
  firstShared,
  inTime,
  leastMsOf,
  STRATEGY_MS_MAX,
  tokenEndMs,
} from './call-after-failure.ts'
import { planFallback, requestFor } from './fallback-request.ts'
import { PartialAnswer } from './partial-answer.ts'

/** The milliseconds before the first retry, if the strategy names none: enough for a process that starts again. */
const BACKOFF_MS = 200

/** The longest wait before a retry, in milliseconds. Waits double, so a later one could take the whole time. */
const WAIT_MS_MAX = 30_000

export type FailureParts = ApprovalStepParts &
  Pick<RunParts, 'callLimits'> & {
    readonly deadlineMsMax: number
    readonly log: Log
    /** Milliseconds since 1970. */
    readonly now: () => number
    /** The calls that wait before a retry. */
    readonly backoffs: Backoffs
    /** Resolves after these milliseconds, or rejects when the signal is aborted. Tests pass another one. */
    readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  }

/** A call of a tool with a strategy, from its first run to its answer. */
export class FailedCall {
  readonly #parts: FailureParts
  readonly #call: Authorised
  readonly #onFailure: OnFailure
  readonly #startedMs = performance.now()
  readonly #collects: boolean
  /** What the last attempt of the tool has yielded. */
  #partial = new PartialAnswer()
  #hasStarted = false
  #attempts = 1
  /** The failure of the first run. */
  #own: CallOutcome | undefined
  /** True if an attempt may have run. Then neither the key nor the approval of the call is free again. */
  #mayHaveRun = false
  #shared: Following['shared']

  constructor(parts: FailureParts, call: Authorised, onFailure: OnFailure) {
    this.#parts = parts
    this.#call = call
    this.#onFailure = onFailure
    this.#collects = strategiesOf(onFailure).some(({ degraded }) => degraded)
    this.#shared = call.following?.shared ?? firstShared(call, Infinity)
  }

  async run(next: Next<Authorised>): Promise<CallOutcome> {
    const call = this.#call
    const isHeard = call.isHeard || this.#collects
    const first = await next({ ...inTime(call, this.#parts), isHeard, emit: this.#hearOwn })
    if (failureKindOf(first) === undefined) return first
    this.#own = first
    this.#mayHaveRun = !hasRunNothing(first)
    if (!call.following) {
      const nowMs = performance.now()
      const { deadlineMsMax, now } = this.#parts
      const ofAll = Math.min(this.#startedMs + deadlineMsMax, nowMs + STRATEGY_MS_MAX)
      const endMs = Math.min(ofAll, tokenEndMs(call, now))
      this.#shared = { ...this.#shared, endMs }
    }
    try {
      return await this.#answer(first)
    } catch (error) {
      // The outcome of the first run alone would not show that a later attempt may have run.
      const { invocationId } = call
      this.#parts.log.error('failure strategy failed', { invocationId, error: inspect(error) })
      return this.#failed(first)
    }
  }

  async #answer(first: CallOutcome): Promise<CallOutcome> {
    const last = await this.#retried(first)
    if (last.result.resultType === 'success') return this.#ended(last)
    return (
      (await this.#fallback(last)) ?? (await this.#asked(last)) ?? this.#degraded(last) ?? this.#failed(last)
    )
  }

  /** Calls the tool again as often as its strategy says. Returns a success, or the last failure of the tool. */
  async #retried(first: CallOutcome): Promise<CallOutcome> {
    const { request, entry } = this.#call
    let failed = first
    for (let count = 1; ; count += 1) {
      const { retry } = this.#strategyOf(failed)
      if (!retry || count > retry.times || !this.#mayRunTwice(failed)) return failed
      const waitMs = backoffMs(retry.backoffMs ?? BACKOFF_MS, count)
      if (!this.#hasTime(waitMs, entry) || !(await this.#waited(waitMs))) return failed
      if (await this.#needsApproval()) {
        this.#note(`${entry.name} was not called again, because its approval was for one call.`)
        return failed
      }
      const before = this.#partial
      this.#partial = new PartialAnswer()
      const again = requestFor(entry, request, request.arguments)
      const timeoutFactor = (retry.timeoutFactor ?? 1) ** count
      const following = { as: 'retry', failed: [], timeoutFactor, shared: this.#shared } as const
      const outcome = await this.#invoke(again, following)
      const { result } = outcome
      if (result.resultType === 'failure' && failureKindOf(outcome) === undefined) {
        // The tool was not called: the call was refused. What the tool has failed with is still the answer.
        this.#partial = before
        this.#note(`${entry.name} could not be called again (${result.code}).`)
        return failed
      }
      this.#attempts += 1
      if (result.resultType === 'success') return outcome
      failed = outcome
    }
  }

  /**
   * True if the tool may be called again: it has certainly not run, or its definition says that it may run twice. A tool whose
   * circuit is open is not called.
   */
  #mayRunTwice(failed: CallOutcome): boolean {
    if (failed.result.resultType === 'success' || failed.result.code === 'TOOL_UNAVAILABLE') return false
    return hasRunNothing(failed) || definitionOf(this.#call.entry).annotations?.idempotentHint === true
  }

  /** True if a rule asks about the call, and the approval that it has used is used up. Asks for nothing. */
  async #needsApproval(): Promise<boolean> {
    const call = this.#call
    if (call.decision.effect !== 'ask') return false
    const again = { ...call, request: { ...call.request, approval: undefined } }
    return (await foreseeApproval(this.#parts, again))?.isWaiting ?? true
  }

  /** Calls the fallbacks, one after the other, until one of them answers or waits for an approval. */
  async #fallback(failed: CallOutcome): Promise<CallOutcome | undefined> {
    const call = this.#call
    const chain = [...(call.following?.failed ?? []), call.entry.name]
    const called = new Set<string>()
    for (const fallback of this.#strategyOf(failed).fallbackTools ?? []) {
      const planned = planFallback(call, chain, fallback)
      if ('refusal' in planned) {
        this.#note(planned.refusal)
        continue
      }
      // Two names can mean the same tool, for example its name and its alias.
      if (called.has(planned.target.name)) continue
      called.add(planned.target.name)
      if (!this.#hasTime(0, planned.target)) continue
      const following = { as: 'fallback', failed: chain, timeoutFactor: 1, shared: this.#shared } as const
      const outcome = await this.#invoke(planned.request, following)
      const { result } = outcome
      if (result.resultType === 'success') return { ...this.#ended(outcome), ...byFallback(call, outcome) }
      if (result.code === 'APPROVAL_REQUIRED' && outcome.approval)
        return this.#waiting(
          outcome.approval,
          `${call.entry.name} has failed (${failureIn(failed).code}), and its fallback waits. ${result.error}`,
          failed,
        )
      this.#note(`${planned.target.name} was called in its place and has not helped (${result.code}).`)
    }
    return undefined
  }

  /** Asks a person whether the tool is called again, if the strategy says so. */
  async #asked(failed: CallOutcome): Promise<CallOutcome | undefined> {
    const call = this.#call
    if (!this.#strategyOf(failed).ask || call.signal.aborted) return undefined
    try {
      const asked = await askPerson(this.#parts, call, failureIn(failed))
      return asked && this.#waiting(asked.approval, asked.message, failed)
    } catch (error) {
      const { invocationId } = call
      this.#parts.log.warn('nobody could be asked about a failed call', {
        invocationId,
        error: inspect(error),
      })
      this.#note('Nobody could be asked about the failure.')
      return undefined
    }
  }

  #waiting(
    approval: NonNullable<CallOutcome['approval']>,
    message: string,
    failed: CallOutcome,
  ): CallOutcome {
    return { ...this.#ended(failed), result: toolFailure('APPROVAL_REQUIRED', message), approval }
  }

  /** What the tool has yielded or printed before it failed, if the strategy says so and there is anything. */
  #degraded(failed: CallOutcome): CallOutcome | undefined {
    if (!this.#strategyOf(failed).degraded) return undefined
    const result = this.#partial.resultOf(this.#call.entry.name, failed)
    return result && { ...this.#ended(failed), result, degraded: true }
  }

  /** The failure of the tool, with what was done about it. */
  #failed(failed: CallOutcome): CallOutcome {
    const { code, error } = failureIn(failed)
    const { notes } = this.#shared
    const isFirst = this.#call.following === undefined
    const result = toolFailure(code, isFirst && notes.length > 0 ? `${error}\n${notes.join(' ')}` : error)
    return { ...this.#ended(failed), result }
  }

  /** The outcome of an attempt as the outcome of this call. */
  #ended(outcome: CallOutcome): CallOutcome {
    return {
      ...asOutcomeOf(this.#call, outcome, this.#own),
      mayHaveRun: this.#mayHaveRun,
      ...(this.#attempts > 1 && { attempts: this.#attempts }),
    }
  }

  #strategyOf(failed: CallOutcome) {
    const strategy = strategyFor(this.#onFailure, failureKindOf(failed) ?? 'generic')
    if (strategy.fallbackTools || failureIn(failed).code !== 'TOOL_UNAVAILABLE') return strategy
    // An open circuit does not say of which kind the failures were that have opened it.
    const fallbackTools = strategiesOf(this.#onFailure).find((one) => one.fallbackTools)?.fallbackTools
    return { ...strategy, fallbackTools }
  }

  /** True if there is time for this wait and a call of the tool after it, and the caller has not left. */
  #hasTime(waitMs: number, tool: CatalogEntry): boolean {
    const { callsLeft, endMs } = this.#shared
    const neededMs = waitMs + leastMsOf(tool, this.#parts)
    return !this.#call.signal.aborted && callsLeft > 0 && performance.now() + neededMs < endMs
  }

  /**
   * Waits before a retry. Returns false if there shall be no retry: the caller has left, or too many calls wait. A call with a key
   * goes on without its caller, but it does not wait without one, because a call that waits keeps its arguments in memory.
   */
  async #waited(waitMs: number): Promise<boolean> {
    if (waitMs <= 0) return true
    const { backoffs, wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }) } =
      this.#parts
    const { principal, entry, signal } = this.#call
    const { caller } = this.#shared
    const isLeft = (): boolean => signal.aborted || caller.aborted
    if (isLeft()) return false
    const hasWaited = await backoffs.run(principal.uid, () =>
      wait(waitMs, AbortSignal.any([signal, caller])).catch(() => undefined),
    )
    if (!hasWaited) this.#note(`${entry.name} was not called again, because too many calls wait for a retry.`)
    return hasWaited && !isLeft()
  }

  async #invoke(request: CallRequest, following: Following): Promise<Invocation> {
    const isRetry = following.as === 'retry'
    const heard = this.#call.isHeard ? this.#hear : undefined
    const listen = isRetry && this.#collects ? this.#hearOwn : heard
    const outcome = await callAfterFailure(this.#call, request, following, listen)
    this.#mayHaveRun ||= !hasRunNothing(outcome)
    return outcome
  }

  /** Passes the events of all attempts on. The caller sees one start, that of this call. */
  readonly #hear = (event: CallEvent): Promise<void> | undefined => {
    const { emit, invocationId } = this.#call
    if (event.type !== 'start') return emit(event)
    if (this.#hasStarted) return undefined
    this.#hasStarted = true
    return emit({ type: 'start', invocationId })
  }

  /** Like `hear`, but for an attempt of the tool itself: also keeps what it yields. */
  readonly #hearOwn = (event: CallEvent): Promise<void> | undefined => {
    if (event.type === 'value' && this.#collects) this.#partial.add(event.value)
    return this.#hear(event)
  }

  #note(sentence: string): void {
    this.#shared.notes.push(sentence)
  }
}

/** The milliseconds before a retry: each time twice as long, and less by chance, so that calls do not come back all at once. */
function backoffMs(firstMs: number, count: number): number {
  return Math.round(Math.min(firstMs * 2 ** (count - 1), WAIT_MS_MAX) * (0.5 + Math.random() / 2))
}

function failureIn({ result }: CallOutcome) {
  return result.resultType === 'failure' ? result : { code: 'INTERNAL' as const, error: '' }
}
