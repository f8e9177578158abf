import { ToolrackError } from '@toolrack/contract'
import { setTimeout as pause } from 'node:timers/promises'
import { noCheck } from '../../tools/modules/runner.ts'
import type {
  ForgottenModule,
  ModuleCheck,
  Runner,
  RunnerAway,
  RunnerCall,
  RunnerHealth,
  RunnerOutcome,
} from '../../tools/modules/runner.ts'
import type { CheckReport } from '../../tools/modules/check-report.ts'
import { checkBody, readCheck } from './check-request.ts'
import { HealthProbe } from './health-probe.ts'
import type { HealthPatience } from './health-probe.ts'
import { readOutcome, strange, unavailable, WANTS_SOURCE } from './read-outcome.ts'
import { refusalBy } from './runner-address.ts'
import type { RunnerAddress } from './runner-address.ts'
import { RunnerLine } from './runner-line.ts'
import type { RunnerAnswer, RunnerLost } from './runner-line.ts'

export type HttpRunnerOptions = {
  /** Where the runner is right now, or why it is nowhere; the same object as long as it is the same runner. A promise where it has to be looked up; that does not reject. */
  readonly whereabouts: () => Whereabouts | Promise<Whereabouts>
  /** Told of an address where no runner is, or one that lets nobody in. */
  readonly failed?: (address: RunnerAddress) => void
  readonly close?: () => Promise<void>
  readonly patience?: Partial<RunnerPatience>
}

export type Whereabouts = RunnerAddress | RunnerAway

export type RunnerPatience = HealthPatience & {
  /** Beyond a call's own deadline, which the runner keeps: for the way there and back, and its queue. */
  readonly graceMs: number
  /** Of a check, its wait for a turn included: above what a runner gives an import and the examples, below what Hosting waits for us. */
  readonly checkMs: number
  /** Of a wish that nobody waits for. */
  readonly forgetMs: number
}

const PATIENCE: RunnerPatience = {
  deadlineMs: 500,
  freshMs: 1_000,
  startingMs: 30_000,
  graceMs: 3_000,
  checkMs: 45_000,
  forgetMs: 5_000,
}

/** A runner in another process or on another machine, asked over HTTP. */
export class HttpRunner implements Runner {
  readonly #options: HttpRunnerOptions
  readonly #patience: RunnerPatience
  readonly #line = new RunnerLine()
  #probe: HealthProbe | undefined

  constructor(options: HttpRunnerOptions) {
    this.#options = options
    this.#patience = { ...PATIENCE, ...options.patience }
  }

  async health(): Promise<RunnerHealth> {
    const where = await this.#soonKnown()
    if ('status' in where) return where
    if (this.#probe?.address !== where) this.#probe = new HealthProbe(where, this.#patience)
    const health = await this.#probe.health()
    if (health.status === 'unreachable') this.#options.failed?.(where)
    return health
  }

  /** Only the answer that nothing was run for want of the source is followed by a second request. */
  async invoke({ source, signal, ...call }: RunnerCall): Promise<RunnerOutcome> {
    const endMs = performance.now() + call.deadlineMs + this.#patience.graceMs
    const first = await this.#ask(call, endMs, signal)
    if (first !== WANTS_SOURCE) return first
    const text = await source()
    if (text === undefined)
      return { code: 'TOOL_NOT_FOUND', error: `Unsupported tool: ${call.tool} (its module is gone)` }
    const second = await this.#ask({ ...call, source: text }, endMs, signal)
    return second === WANTS_SOURCE ? unavailable('does not keep the module that it was sent') : second
  }

  async check(module: ModuleCheck): Promise<CheckReport> {
    const where = await this.#options.whereabouts()
    if ('status' in where) throw new ToolrackError('RUNNER_UNAVAILABLE', noCheck(where.reason))
    const request = { path: '/check', body: checkBody(module), deadlineMs: this.#patience.checkMs } as const
    const answer = await this.#line.post(where, request)
    if (isFailed(answer)) this.#options.failed?.(where)
    return readCheck(answer, module, refusalOf(where, answer))
  }

  async forget(module: ForgottenModule): Promise<void> {
    const where = await this.#options.whereabouts()
    if ('status' in where) return
    const request = { path: '/forget', body: JSON.stringify(module) } as const
    await this.#line.post(where, { ...request, deadlineMs: this.#patience.forgetMs })
  }

  async close(): Promise<void> {
    this.#line.close()
    await this.#options.close?.()
  }

  async #ask(
    {
      minIsolation,
      resultBytesMax,
      ...call
    }: Omit<RunnerCall, 'source' | 'signal'> & { readonly source?: string },
    endMs: number,
    signal: AbortSignal,
  ): Promise<RunnerOutcome | typeof WANTS_SOURCE> {
    const where = await this.#options.whereabouts()
    if ('status' in where)
      return { code: 'RUNNER_UNAVAILABLE', error: `Nothing was run: ${where.reason}`, retryAfterSeconds: 1 }
    const limits = { outputBytes: resultBytesMax, ...(minIsolation && { minIsolation }) }
    const body = JSON.stringify({ ...call, limits })
    const deadlineMs = Math.max(1, Math.ceil(endMs - performance.now()))
    const answer = await this.#line.post(where, { path: '/invoke', body, deadlineMs, signal })
    const outcome = outcomeOf(answer, refusalOf(where, answer))
    // Who went before the runner was reached says nothing of where it is.
    if (outcome !== WANTS_SOURCE && !signal.aborted && isFailed(answer)) this.#options.failed?.(where)
    return outcome
  }

  /** Who asks how it is does not wait for as long as a call would. */
  #soonKnown(): Whereabouts | Promise<Whereabouts> {
    const where = this.#options.whereabouts()
    if (!(where instanceof Promise)) return where
    return Promise.race([where, pause(this.#patience.deadlineMs, LOOKED_UP, { ref: false })])
  }
}

const LOOKED_UP: RunnerAway = { status: 'starting', reason: 'The runner is being looked up.' }

function outcomeOf(answer: RunnerAnswer | RunnerLost, refusal: string): RunnerOutcome | typeof WANTS_SOURCE {
  if ('httpStatus' in answer) return readOutcome(answer, refusal)
  return answer.wasSent ? strange(answer.how) : unavailable(answer.how)
}

/** Whether what answered may be no runner of ours, or nothing did. */
function isFailed(answer: RunnerAnswer | RunnerLost): boolean {
  return 'httpStatus' in answer ? [401, 403, 404].includes(answer.httpStatus) : !answer.wasSent
}

function refusalOf(where: RunnerAddress, answer: RunnerAnswer | RunnerLost): string {
  return refusalBy(where, 'httpStatus' in answer ? answer.httpStatus : 0)
}
