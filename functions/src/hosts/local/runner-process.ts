import { setTimeout as pause } from 'node:timers/promises'
import type { RunnerAway } from '../../tools/modules/runner.ts'
import type { Log } from '../../log.ts'
import type { RunnerAddress } from '../../platform/runner/runner-address.ts'
import { Backoff } from './backoff.ts'
import type { BackoffLimits } from './backoff.ts'
import { RunnerChild } from './runner-child.ts'
import type { RunnerCommand, RunnerEnd } from './runner-child.ts'

export type RunnerPatience = {
  /** From its start to the line that says where it listens. */
  readonly readyMs: number
  /** From the end of its input to its own end. */
  readonly stopMs: number
} & BackoffLimits

const PATIENCE: RunnerPatience = {
  readyMs: 30_000,
  stopMs: 5_000,
  againMs: 100,
  againMsMax: 5_000,
  healthyMs: 60_000,
}

const NOT_STARTED: RunnerEnd = { how: 'can not be started', isFinal: false }

/** Keeps a runner's process alive: starts it, and again whenever it has ended, until it is stopped. */
export class RunnerProcess {
  /** Resolves once it is not started again any more. */
  readonly over: Promise<void>
  readonly #command: RunnerCommand
  readonly #log: Log
  readonly #patience: RunnerPatience
  readonly #stopping = new AbortController()
  #child: RunnerChild | undefined
  #where: RunnerAddress | RunnerAway = { status: 'starting', reason: 'The runner is being started.' }

  constructor(command: RunnerCommand, log: Log, patience: Partial<RunnerPatience> = {}) {
    this.#command = command
    this.#log = log
    this.#patience = { ...PATIENCE, ...patience }
    this.over = this.#keep()
  }

  /** The same object for as long as the same process listens. */
  get whereabouts(): RunnerAddress | RunnerAway {
    return this.#where
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#child?.stop(this.#patience.stopMs)
    await this.over
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping
    const backoff = new Backoff(this.#patience)
    while (!signal.aborted) {
      const { end, healthMs } = await this.#live()
      if (signal.aborted) return
      const next = end.isFinal ? 'correct that, then start the server again' : 'it is being started again'
      this.#where = { status: 'unreachable', reason: `The runner ${end.how}; ${next}.` }
      this.#log.error(`runner ${end.how}; ${next}`)
      if (end.isFinal) return
      await pause(backoff.waitMs(healthMs), undefined, { signal }).catch(() => undefined)
    }
  }

  /** One life, and how long of it the runner was ready. */
  async #live(): Promise<{ end: RunnerEnd; healthMs: number }> {
    const child = this.#start()
    if (child === undefined) return { end: NOT_STARTED, healthMs: 0 }
    this.#child = child
    const tooLate = setTimeout(() => child.kill('has not become ready in time'), this.#patience.readyMs)
    const address = await child.ready
    clearTimeout(tooLate)
    if (!address) return { end: await child.ended, healthMs: 0 }
    const readyAtMs = performance.now()
    this.#where = address
    this.#log.info('runner is ready', { url: address.url })
    return { end: await child.ended, healthMs: performance.now() - readyAtMs }
  }

  /** Undefined where the machine has no memory or no descriptors left for another process. */
  #start(): RunnerChild | undefined {
    try {
      return new RunnerChild(this.#command, this.#log)
    } catch (error) {
      this.#log.error('the runner can not be started', { reason: (error as Error).message })
      return undefined
    }
  }
}
