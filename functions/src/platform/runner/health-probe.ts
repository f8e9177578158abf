import { parseObject } from '../../parse-object.ts'
import { ISOLATION_LEVELS, type RunnerAway, type RunnerHealth } from '../../tools/modules/runner.ts'
import { credentialFor, refusalBy, type RunnerEndpoint } from './runner-connection.ts'

export const HEALTH_PATIENCE = {
  /** The time for one answer. */
  deadlineMs: 500,
  /** For how long an answer is used. */
  freshMs: 1_000,
  /** How long a new runner may be silent: it measures its isolation before its first answer. */
  startingMs: 30_000,
}
export type HealthPatience = Readonly<typeof HEALTH_PATIENCE>

/** Asks the runner at one endpoint for its health, at most once in `freshMs`. */
export class HealthProbe {
  readonly endpoint: RunnerEndpoint
  readonly #patience: HealthPatience
  readonly #sinceMs = performance.now()
  #askedMs = -Infinity
  #hasAnswered = false
  #health: Promise<RunnerHealth> | undefined

  constructor(endpoint: RunnerEndpoint, patience: HealthPatience) {
    this.endpoint = endpoint
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
    const credential = await credentialFor(this.endpoint)
    if ('how' in credential) return unreachable(credential.how)
    using deadline = new Deadline(this.#patience.deadlineMs)
    try {
      const answer = await fetch(new URL('/health', this.endpoint.url), {
        headers: credential.headers,
        redirect: 'error',
        signal: deadline.signal,
      })
      const text = await answer.text()
      this.#hasAnswered = true
      return readHealth(answer.status, text, refusalBy(this.endpoint, answer.status))
    } catch (error) {
      return this.#away(error as Error)
    }
  }

  #away({ name, cause }: Error): RunnerAway {
    const { deadlineMs, startingMs } = this.#patience
    const { code } = (cause ?? {}) as NodeJS.ErrnoException
    if (name !== 'TimeoutError')
      return unreachable(`does not answer${code === undefined ? '' : ` (${code})`}`)
    if (!this.#hasAnswered && performance.now() - this.#sinceMs < startingMs)
      return { status: 'starting', reason: 'The runner has not answered yet.' }
    return unreachable(`has not answered within ${deadlineMs} ms`)
  }
}

/** A timer that is late by more than this part of its time means that our own event loop was blocked. */
const LATE = 1 / 3

/**
 * Aborts a request after so many milliseconds. If our own event loop was blocked meanwhile, the request may not have been sent,
 * or its answer not been read; then it gets the same time once more.
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

/**
 * The runner's health from its answer. To a caller that it does not let in a runner tells its level of isolation, and nothing
 * else. `refusal` says, behind "The runner", why it does not let us in.
 */
function readHealth(httpStatus: number, text: string, refusal: string): RunnerHealth {
  if (httpStatus === 401 || httpStatus === 403) return unreachable(refusal)
  if (httpStatus !== 200) return unreachable(`answers with HTTP ${httpStatus}`)
  const { status, ...facts } = parseObject(text) ?? {}
  const isolation = ISOLATION_LEVELS.find((level) => level === facts['isolation'])
  if (isolation === undefined) return unreachable('sent an answer that is not valid')
  if (!Array.isArray(facts['layers'])) return unreachable(refusal)
  if (status !== 'ok') return { status: 'starting', reason: 'The runner answers, and cannot take calls yet.' }
  return { status: 'ready', ...facts, isolation }
}

/** `how` goes behind "The runner". */
function unreachable(how: string): RunnerAway {
  return { status: 'unreachable', reason: `The runner ${how}.` }
}
