import { ISOLATION_LEVELS } from '../../tools/modules/runner.ts'
import type { RunnerAway, RunnerHealth } from '../../tools/modules/runner.ts'

/** From the runner's answer to what the service knows of it. `refusal` says, behind "The runner", what it means not to be let in. */
export function readHealth(httpStatus: number, text: string, refusal: string): RunnerHealth {
  if (httpStatus === 401 || httpStatus === 403) return away(refusal)
  if (httpStatus !== 200) return away(`answers with HTTP ${httpStatus}`)
  const { status, ...facts } = parse(text) ?? {}
  const isolation = ISOLATION_LEVELS.find((level) => level === facts['isolation'])
  if (isolation === undefined) return away('answers with what no runner says')
  // To a stranger it tells its level, and nothing of how it came to it.
  if (!Array.isArray(facts['layers'])) return away(refusal)
  if (status !== 'ok')
    return { status: 'starting', reason: 'The runner answers, and can not take calls yet.' }
  return { status: 'ready', ...facts, isolation }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function away(what: string): RunnerAway {
  return { status: 'unreachable', reason: `The runner ${what}.` }
}
