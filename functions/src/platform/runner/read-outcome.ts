import { ERROR_CODES } from '@toolrack/contract'
import type { ErrorCode } from '@toolrack/contract'
import { ISOLATION_LEVELS } from '../../tools/modules/runner.ts'
import type { RunnerFailure, RunnerOutcome } from '../../tools/modules/runner.ts'
import type { RunnerAnswer } from './runner-line.ts'

/** The runner asks for the source of the module: nothing was run. */
export const WANTS_SOURCE = 'wants the source'

type Fields = Readonly<Record<string, unknown>>

/**
 * From an answer of `/invoke` to what came of the call; what no runner says may have run the tool, and says so. `refusal`
 * says, behind "The runner", what it means not to be let in.
 */
export function readOutcome(answer: RunnerAnswer, refusal: string): RunnerOutcome | typeof WANTS_SOURCE {
  if (answer.httpStatus === 200) return ran(answer.text) ?? strange('answers with what no runner says')
  return refused(answer, reasonIn(parse(answer.text)), refusal)
}

/** A runner writes the value right behind the outcome, and the log right behind the value. */
const BEFORE_VALUE = '{"outcome":"success","value":'
const BEHIND_VALUE = ',"log":{"text":"'

/**
 * An answer as the text of its value, and all the rest. The value is not parsed, for it may take tens of milliseconds, and
 * the runner has parsed it. In no string of JSON is there a bare quote, so the last BEHIND_VALUE is the log of the answer,
 * whatever value and log hold.
 */
function split(answered: string): { readonly rest: string; readonly json: string | undefined } {
  const end = answered.lastIndexOf(BEHIND_VALUE)
  if (end < BEFORE_VALUE.length || !answered.startsWith(BEFORE_VALUE))
    return { rest: answered, json: undefined }
  return {
    rest: `{"outcome":"success"${answered.slice(end)}`,
    json: answered.slice(BEFORE_VALUE.length, end),
  }
}

/** The call came to an end in the runner. */
function ran(answered: string): RunnerOutcome | undefined {
  const { rest, json } = split(answered)
  const body = parse(rest)
  const isolation = ISOLATION_LEVELS.find((level) => level === body['isolation'])
  const [usage, log] = [fields(body['usage']), fields(body['log'])]
  const { wallMs, cpuMs, maxRssBytes } = usage
  const { text: printed, truncated } = log
  if (!isolation || typeof printed !== 'string') return undefined
  if (typeof wallMs !== 'number' || typeof cpuMs !== 'number' || typeof maxRssBytes !== 'number')
    return undefined
  const facts = {
    isolation,
    usage: { wallMs, cpuMs, maxRssBytes },
    log: { text: printed, truncated: truncated === true },
  }
  const { outcome, code, error, text } = body
  if (outcome === 'failure')
    return isCode(code) && typeof error === 'string' ? { ...facts, code, error } : undefined
  if (outcome !== 'success') return undefined
  if (json !== undefined) return { ...facts, json }
  return typeof text === 'string' ? { ...facts, text } : undefined
}

/** Refusals of the runner, which come before anything runs, and of what stands in front of it. */
function refused(
  { httpStatus, retryAfterSeconds }: RunnerAnswer,
  reason: { readonly code: unknown; readonly message: string } | undefined,
  refusal: string,
): RunnerOutcome | typeof WANTS_SOURCE {
  const again = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  if (reason?.code === 'MODULE_UNKNOWN') return WANTS_SOURCE
  if (reason?.code === 'ISOLATION_UNAVAILABLE')
    return { code: 'ISOLATION_UNAVAILABLE', error: `Nothing was run: ${reason.message}` }
  if (httpStatus === 429) {
    const why = reason?.code === 'RUNNER_BUSY' ? reason.message : 'The runner has as many calls as it takes'
    return { code: 'RUNNER_BUSY', error: `Nothing was run: ${why}.`, ...again }
  }
  if (reason?.code === 'RUNNER_UNAVAILABLE')
    return { ...unavailable(`has no process for the call: ${reason.message}`), ...again }
  if (httpStatus === 401 || httpStatus === 403) return unavailable(refusal)
  if (reason !== undefined && httpStatus < 500)
    return unavailable(`refuses the call (${String(reason.code)})`)
  if (httpStatus === 404) return unavailable('is not at its address')
  return strange(`answers with HTTP ${httpStatus}`)
}

/** Nothing was run. `how` goes behind "The runner". */
export function unavailable(how: string): RunnerFailure {
  return { code: 'RUNNER_UNAVAILABLE', error: `The runner ${how}; nothing was run.` }
}

/** It is not known how far the call came. */
export function strange(how: string): RunnerFailure {
  return {
    code: 'WORKER_DIED',
    error: `The runner ${how}; the tool may have run. Look before you repeat the call.`,
  }
}

function reasonIn(body: Fields): { readonly code: unknown; readonly message: string } | undefined {
  const { details, message } = fields(body['error'])
  const [first] = Array.isArray(details) ? (details as unknown[]) : []
  const { reason } = fields(first)
  return typeof reason === 'string' && typeof message === 'string' ? { code: reason, message } : undefined
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code)
}

function parse(text: string): Fields {
  try {
    return fields(JSON.parse(text))
  } catch {
    return {}
  }
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
