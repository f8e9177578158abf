import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../log.ts'
import type { PresentEndpoint } from '../../platform/runner/http-runner.ts'
import { RunnerChild, type RunnerCommand, type RunnerEnd } from './runner-child.ts'

const PATIENCE = {
  /** The most milliseconds from the start of the process until it writes its address. */
  readyMs: 30_000,
  /** The most milliseconds that the process may take to end, after its input was closed. */
  stopMs: 5_000,
  /** The milliseconds before the first restart. They are doubled before each later restart, up to `againMsMax`. */
  againMs: 100,
  againMsMax: 5_000,
  /** If a process was ready for longer than this, the next restart waits only `againMs` again. */
  healthyMs: 60_000,
}
export type RunnerPatience = Readonly<typeof PATIENCE>

/** Starts a runner, and starts it again whenever it has ended, until it is stopped. */
export class RunnerProcess {
  /** Resolves when the runner will not be started again. */
  readonly over: Promise<void>
  /** Resolves when the first start is over: when the endpoint is no longer `starting`, or when the runner was stopped. */
  readonly started: Promise<void>
  readonly #command: RunnerCommand
  readonly #log: Log
  readonly #patience: RunnerPatience
  readonly #stopping = new AbortController()
  #child: RunnerChild | undefined
  readonly #firstStart = Promise.withResolvers<void>()
  #endpoint: PresentEndpoint = { status: 'starting', reason: 'The runner is being started.' }

  constructor(command: RunnerCommand, log: Log, patience: Partial<RunnerPatience> = {}) {
    this.#command = command
    this.#log = log
    this.#patience = { ...PATIENCE, ...patience }
    this.started = this.#firstStart.promise
    this.over = this.#keep().finally(this.#firstStart.resolve)
  }

  /** The endpoint of the process that runs now. It is the same object as long as this process runs. */
  get endpoint(): PresentEndpoint {
    return this.#endpoint
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#child?.stop(this.#patience.stopMs)
    await this.over
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping
    const waitMs = backoff(this.#patience)
    while (!signal.aborted) {
      const { end, healthMs } = await this.#runOnce()
      if (signal.aborted) return
      const next = end.isFinal ? 'correct that, then start the server again' : 'it is being started again'
      this.#setEndpoint({ status: 'unreachable', reason: `The runner ${end.how}; ${next}.` })
      this.#log.error(`runner ${end.how}; ${next}`)
      if (end.isFinal) return
      await pause(waitMs(healthMs), undefined, { signal }).catch(() => undefined)
    }
  }

  #setEndpoint(endpoint: PresentEndpoint): void {
    this.#endpoint = endpoint
    this.#firstStart.resolve()
  }

  /** Runs one process until it ends. Returns how it ended, and for how many milliseconds it was ready. */
  async #runOnce(): Promise<{ end: RunnerEnd; healthMs: number }> {
    let child: RunnerChild
    try {
      child = new RunnerChild(this.#command, this.#log)
    } catch (error) {
      // The machine has no memory or no descriptors left for another process.
      this.#log.error('the runner cannot be started', { reason: (error as Error).message })
      return { end: { how: 'cannot be started', isFinal: false }, healthMs: 0 }
    }
    this.#child = child
    const tooLate = setTimeout(() => child.kill('has not become ready in time'), this.#patience.readyMs)
    const endpoint = await child.ready
    clearTimeout(tooLate)
    if (!endpoint) return { end: await child.ended, healthMs: 0 }
    const readyAtMs = performance.now()
    this.#setEndpoint(endpoint)
    this.#log.info('runner is ready', { url: endpoint.url })
    return { end: await child.ended, healthMs: performance.now() - readyAtMs }
  }
}

/**
 * Returns a function that computes how many milliseconds to wait before a restart. Its argument says for how many milliseconds
 * the last process was ready.
 */
export function backoff(limits: Pick<RunnerPatience, 'againMs' | 'againMsMax' | 'healthyMs'>) {
  const { againMs, againMsMax, healthyMs } = limits
  let nextMs = againMs
  return function waitMs(healthMs: number): number {
    const waitMs = healthMs > healthyMs ? againMs : nextMs
    nextMs = Math.min(waitMs * 2, againMsMax)
    return waitMs
  }
}
