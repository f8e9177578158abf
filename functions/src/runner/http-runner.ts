import type { Runner, RunnerAway, RunnerHealth } from '../invoke/runner.ts'
import { HealthProbe } from './health-probe.ts'
import type { HealthPatience, RunnerAddress } from './health-probe.ts'

export type HttpRunnerOptions = {
  /** Where the runner is right now, or why it is nowhere; the same object as long as it is the same runner. */
  readonly whereabouts: () => RunnerAddress | RunnerAway
  readonly close?: () => Promise<void>
  readonly patience?: Partial<HealthPatience>
}

const PATIENCE: HealthPatience = { deadlineMs: 500, freshMs: 1_000, startingMs: 30_000 }

/** A runner in another process or on another machine, asked over HTTP. */
export class HttpRunner implements Runner {
  readonly #options: HttpRunnerOptions
  #probe: HealthProbe | undefined

  constructor(options: HttpRunnerOptions) {
    this.#options = options
  }

  health(): Promise<RunnerHealth> {
    const where = this.#options.whereabouts()
    if ('status' in where) return Promise.resolve(where)
    if (this.#probe?.address !== where)
      this.#probe = new HealthProbe(where, { ...PATIENCE, ...this.#options.patience })
    return this.#probe.health()
  }

  async close(): Promise<void> {
    await this.#options.close?.()
  }
}
