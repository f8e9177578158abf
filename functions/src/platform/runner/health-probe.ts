import { parseObject } from '../../parse-object.ts'
import { ISOLATION_LEVELS, type RunnerAway, type RunnerHealth } from '../../catalog/definitions/runner.ts'
import { credentialFor } from './runner-connection.ts'
import { refusalBy, type RunnerEndpoint } from './runner-request.ts'

export const HEALTH_PATIENCE = {
  /** The most milliseconds for one answer. */
  deadlineMs: 500,
  /** For how many milliseconds the last answer is used again. */
  freshMs: 1_000,
  /** For how many milliseconds after its start a runner may give no answer, because it first measures its isolation. */
  startingMs: 30_000,
}
export type HealthPatience = Readonly<typeof HEALTH_PATIENCE>

export type HealthProbe = {
  readonly endpoint: RunnerEndpoint
  readonly health: () => Promise<RunnerHealth>
}

/** Makes a function that asks the runner at one endpoint for its health, at most once in `freshMs`. */
export function healthProbe(endpoint: RunnerEndpoint, patience: HealthPatience): HealthProbe {
  const { deadlineMs, freshMs, startingMs } = patience
  const sinceMs = performance.now()
  let askedMs = -Infinity
  let hasAnswered = false
  let last: Promise<RunnerHealth> | undefined

  async function ask(): Promise<RunnerHealth> {
    const credential = await credentialFor(endpoint)
    if ('how' in credential) return unreachable(credential.how)
    using deadline = startDeadline(deadlineMs)
    try {
      const answer = await fetch(new URL('/health', endpoint.url), {
        headers: credential.headers,
        redirect: 'error',
        signal: deadline.signal,
      })
      const text = await answer.text()
      hasAnswered = true
      return readHealth(answer.status, text, refusalBy(endpoint, answer.status))
    } catch (error) {
      return away(error as Error)
    }
  }
  function away({ name, cause }: Error): RunnerAway {
    const { code } = (cause ?? {}) as NodeJS.ErrnoException
    if (name !== 'TimeoutError')
      return unreachable(`does not answer${code === undefined ? '' : ` (${code})`}`)
    if (!hasAnswered && performance.now() - sinceMs < startingMs)
      return { status: 'starting', reason: 'The runner has not answered yet.' }
    return unreachable(`has not answered within ${deadlineMs} ms`)
  }
  return {
    endpoint,
    health() {
      const nowMs = performance.now()
      if (last && nowMs - askedMs < freshMs) return last
      askedMs = nowMs
      return (last = ask())
    },
  }
}

/** If a timer is late by more than this fraction of its time, the event loop of this server was blocked. */
const LATE = 1 / 3

/**
 * Aborts a request after `deadlineMs` milliseconds. If the event loop of this server was blocked meanwhile, the request may not
 * have been sent, or its answer was not read. Then the request gets the same time once more.
 */
function startDeadline(deadlineMs: number): Disposable & { readonly signal: AbortSignal } {
  const aborter = new AbortController()
  const sinceMs = performance.now()
  let timer = setTimeout(() => {
    const isLate = performance.now() - sinceMs > deadlineMs * (1 + LATE)
    timer = setTimeout(abort, isLate ? deadlineMs : 0)
  }, deadlineMs)
  function abort(): void {
    aborter.abort(new DOMException('The runner has not answered.', 'TimeoutError'))
  }
  return { signal: aborter.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Reads the runner's health from its answer. `refusal` says what a 401 or 403 means. It can follow the words "The runner". */
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

/** The state of a runner that cannot be reached. `how` says why, in words that can follow "The runner". */
function unreachable(how: string): RunnerAway {
  return { status: 'unreachable', reason: `The runner ${how}.` }
}
