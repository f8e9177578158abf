import { ToolrackError } from '@toolrack/contract'
import { noCheck } from '../invoke/runner.ts'
import type {
  ModuleSource,
  Runner,
  RunnerAway,
  RunnerCall,
  RunnerHealth,
  RunnerOutcome,
} from '../invoke/runner.ts'
import type { CheckedModule } from '../modules/checked-module.ts'
import { checkBody, checkedIn } from './check-request.ts'
import { HealthProbe } from './health-probe.ts'
import type { HealthPatience, RunnerAddress } from './health-probe.ts'
import { readOutcome, strange, unavailable, WANTS_SOURCE } from './read-outcome.ts'
import { RunnerLine } from './runner-line.ts'

export type HttpRunnerOptions = {
  /** Where the runner is right now, or why it is nowhere; the same object as long as it is the same runner. */
  readonly whereabouts: () => RunnerAddress | RunnerAway
  readonly close?: () => Promise<void>
  readonly patience?: Partial<RunnerPatience>
}

type RunnerPatience = HealthPatience & {
  /** Beyond a call's own deadline, which the runner keeps: for the way there and back, and its queue. */
  readonly graceMs: number
  /** Of a check, its wait for a turn included: above what a runner gives an import and the examples, below what Hosting waits for us. */
  readonly checkMs: number
}

const PATIENCE: RunnerPatience = {
  deadlineMs: 500,
  freshMs: 1_000,
  startingMs: 30_000,
  graceMs: 3_000,
  checkMs: 45_000,
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

  health(): Promise<RunnerHealth> {
    const where = this.#options.whereabouts()
    if ('status' in where) return Promise.resolve(where)
    if (this.#probe?.address !== where) this.#probe = new HealthProbe(where, this.#patience)
    return this.#probe.health()
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

  async check(module: ModuleSource): Promise<CheckedModule> {
    const where = this.#options.whereabouts()
    if ('status' in where) throw new ToolrackError('RUNNER_UNAVAILABLE', noCheck(where.reason))
    const request = { path: '/check', body: checkBody(module), deadlineMs: this.#patience.checkMs } as const
    return checkedIn(await this.#line.post(where, request), module)
  }

  async close(): Promise<void> {
    this.#line.close()
    await this.#options.close?.()
  }

  async #ask(
    { minIsolation, ...call }: Omit<RunnerCall, 'source' | 'signal'> & { readonly source?: string },
    endMs: number,
    signal: AbortSignal,
  ): Promise<RunnerOutcome | typeof WANTS_SOURCE> {
    const where = this.#options.whereabouts()
    if ('status' in where)
      return { code: 'RUNNER_UNAVAILABLE', error: `Nothing was run: ${where.reason}`, retryAfterSeconds: 1 }
    const body = JSON.stringify({ ...call, ...(minIsolation && { limits: { minIsolation } }) })
    const deadlineMs = Math.max(1, Math.ceil(endMs - performance.now()))
    const answer = await this.#line.post(where, { path: '/invoke', body, deadlineMs, signal })
    if ('httpStatus' in answer) return readOutcome(answer)
    return answer.wasSent ? strange(answer.how) : unavailable(answer.how)
  }
}
