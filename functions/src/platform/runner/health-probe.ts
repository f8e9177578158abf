import type { RunnerAway, RunnerHealth } from '../../tools/modules/runner.ts'
import { readHealth } from './read-health.ts'
import { credentialFor, refusalBy } from './runner-address.ts'
import type { RunnerAddress } from './runner-address.ts'

export type HealthPatience = {
  /** Of one answer. */
  readonly deadlineMs: number
  /** How long an answer is good for. */
  readonly freshMs: number
  /** How long one that has never answered may be silent: it measures its isolation before its first answer. */
  readonly startingMs: number
}

/** Asks the runner at one address how it is, once a second at most, however many ask us. */
export class HealthProbe {
  readonly address: RunnerAddress
  readonly #patience: HealthPatience
  readonly #sinceMs = performance.now()
  #askedMs = -Infinity
  #hasAnswered = false
  #health: Promise<RunnerHealth> | undefined

  constructor(address: RunnerAddress, patience: HealthPatience) {
    this.address = address
    this.#patience = patience
  }

  health(): Promise<RunnerHealth> {
    const nowMs = performance.now()
    if (this.#health && nowMs - this.#askedMs < this.#patience.freshMs) return this.#health
    this.#askedMs = nowMs
    this.#health = this.#ask()
    return this.#health
  }

  async #ask(): Promise<RunnerHealth> {
    const credential = await credentialFor(this.address)
    if ('how' in credential) return unreachable(`The runner ${credential.how}.`)
    using deadline = new Deadline(this.#patience.deadlineMs)
    try {
      const answer = await fetch(new URL('/health', this.address.url), {
        headers: credential.headers,
        redirect: 'error',
        signal: deadline.signal,
      })
      const text = await answer.text()
      this.#hasAnswered = true
      return readHealth(answer.status, text, refusalBy(this.address, answer.status))
    } catch (error) {
      return this.#away(error as Error)
    }
  }

  #away({ name, cause }: Error): RunnerAway {
    const { deadlineMs, startingMs } = this.#patience
    const { code } = (cause ?? {}) as NodeJS.ErrnoException
    if (name !== 'TimeoutError')
      return unreachable(`The runner does not answer${code === undefined ? '' : ` (${code})`}.`)
    if (!this.#hasAnswered && performance.now() - this.#sinceMs < startingMs)
      return { status: 'starting', reason: 'The runner has not answered yet.' }
    return unreachable(`The runner has not answered within ${deadlineMs} ms.`)
  }
}

/** Where a timer comes later by more than this part of its time, our own loop was blocked. */
const LATE = 1 / 3

/**
 * Aborts a request that has lasted for so long. Where our own loop was blocked meanwhile, the answer may be here and not be
 * read yet, or the request not be sent: then it is judged only after it has had as long once more.
 */
class Deadline implements Disposable {
  readonly #deadlineMs: number
  readonly #aborter = new AbortController()
  readonly #sinceMs = performance.now()
  #timer: NodeJS.Timeout

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs
    this.#timer = setTimeout(() => this.#judge(), deadlineMs)
  }

  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  #judge(): void {
    const isLate = performance.now() - this.#sinceMs > this.#deadlineMs * (1 + LATE)
    this.#timer = setTimeout(() => this.#abort(), isLate ? this.#deadlineMs : 0)
  }

  #abort(): void {
    this.#aborter.abort(new DOMException('The runner has not answered.', 'TimeoutError'))
  }
}

function unreachable(reason: string): RunnerAway {
  return { status: 'unreachable', reason }
}
