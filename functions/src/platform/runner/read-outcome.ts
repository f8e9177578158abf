import { ERROR_CODES, FAILURE_KINDS, type ErrorCode } from '@toolrack/contract'
import { cutMember } from '../../json/cut-member.ts'
import { parseObject } from '../../parse-object.ts'
import { ISOLATION_LEVELS, type RunnerFailure, type RunnerOutcome } from '../../catalog/definitions/runner.ts'
import { readContent } from './read-content.ts'
import type { RunnerAnswer } from './runner-request.ts'

/** Stands for the outcome if the runner needs the source of the module first. Then nothing was run. */
export const WANTS_SOURCE = 'wants the source'

type Fields = Readonly<Record<string, unknown>>

/** Reads the outcome of a call from an answer of `/invoke`. If the answer is not valid, the tool may have run nevertheless. */
export function readOutcome(answer: RunnerAnswer): RunnerOutcome | typeof WANTS_SOURCE {
  if (answer.httpStatus !== 200) return refused(answer)
  return ran(answer.text) ?? uncertain('sent an answer that is not valid')
}

/**
 * The outcome of a call that the runner has run. Undefined if the answer is not valid. The value is not parsed, because that may
 * take tens of milliseconds and the runner has parsed it already.
 */
function ran(answered: string): RunnerOutcome | undefined {
  // Images may have megabytes. Parsing the answer with them takes twice as long as parsing them alone.
  const outer = answered.includes('"content":[') ? cutMember(answered, 'content') : { rest: answered }
  const { rest, cut: json } = cutMember(outer?.rest ?? '', 'value') ?? { rest: '' }
  const body = parseObject(rest) ?? {}
  const isolation = ISOLATION_LEVELS.find((level) => level === body['isolation'])
  const { wallMs, cpuMs, maxRssBytes } = fields(body['usage'])
  const { text: printed, truncated } = fields(body['log'])
  if (!isolation || typeof printed !== 'string') return undefined
  if (typeof wallMs !== 'number' || typeof cpuMs !== 'number' || typeof maxRssBytes !== 'number')
    return undefined
  const facts = {
    isolation,
    usage: { wallMs, cpuMs, maxRssBytes },
    log: { text: printed, truncated: truncated === true },
    ...(typeof body['reused'] === 'number' && { reused: body['reused'] }),
  }
  const { outcome, code, error, text } = body
  if (outcome === 'failure')
    return isCode(code) && typeof error === 'string'
      ? { ...facts, code, error, ...kindOf(code, body['kind']) }
      : undefined
  const made =
    outcome === 'success'
      ? readContent(outer?.cut === undefined ? body['content'] : parsed(outer.cut))
      : undefined
  if (!made) return undefined
  const returned = made.length > 0 ? { ...facts, made } : facts
  if (json !== undefined) return { ...returned, json }
  return typeof text === 'string' ? { ...returned, text } : undefined
}

/** The kind of an exception. A value that is no kind is left out, because it does not make the answer less true. */
function kindOf(code: ErrorCode, value: unknown): Pick<RunnerFailure, 'kind'> {
  const kind = FAILURE_KINDS.find((one) => one === value)
  return code === 'TOOL_RAISED' && kind && kind !== 'generic' ? { kind } : {}
}

/** The value of a JSON text. Null if it is not JSON. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

/** The outcome of a call to which the runner, or a proxy in front of it, has answered with an error. */
function refused(answer: RunnerAnswer): RunnerOutcome | typeof WANTS_SOURCE {
  const { httpStatus, retryAfterSeconds, refusal } = answer
  const reason = reasonIn(parseObject(answer.text))
  const again = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  if (reason?.code === 'MODULE_UNKNOWN') return WANTS_SOURCE
  if (reason?.code === 'ISOLATION_UNAVAILABLE')
    return { code: 'ISOLATION_UNAVAILABLE', error: `Nothing was run: ${reason.message}` }
  if (reason?.code === 'PACKAGES_UNAVAILABLE' || reason?.code === 'PACKAGES_REFUSED')
    return { code: reason.code, error: sentence(reason.message), ...again }
  if (httpStatus === 429) {
    const why = reason?.code === 'RUNNER_BUSY' ? reason.message : 'The runner has as many calls as it takes'
    return { code: 'RUNNER_BUSY', error: `Nothing was run: ${why}.`, ...again }
  }
  if (reason?.code === 'RUNNER_UNAVAILABLE')
    return { ...unavailable(`has no process for the call: ${reason.message}`), ...again }
  if (httpStatus === 401 || httpStatus === 403) return unavailable(refusal)
  if (reason !== undefined && httpStatus < 500) return unavailable(`refuses the call (${reason.code})`)
  if (httpStatus === 404) return unavailable('is not at its address')
  return uncertain(`answers with HTTP ${httpStatus}`)
}

/** A message of the runner as a sentence. Its messages begin with a small letter and have no full stop. */
export function sentence(message: string): string {
  const [first = ''] = message
  return `${first.toUpperCase()}${message.slice(first.length)}${/[.!?]$/.test(message) ? '' : '.'}`
}

/** The failure of a call that was not run. `how` can follow the words "The runner". */
export function unavailable(how: string): RunnerFailure {
  return { code: 'RUNNER_UNAVAILABLE', error: `The runner ${how}; nothing was run.` }
}

/** The failure of a call that may have run. `how` can follow the words "The runner". */
export function uncertain(how: string): RunnerFailure {
  return {
    code: 'WORKER_DIED',
    error: `The runner ${how}; the tool may have run. Look before you repeat the call.`,
  }
}

/** The failure of a call whose caller has disconnected. `wasSent` is true if the runner may have begun. */
export function cancelled(wasSent: boolean): RunnerFailure {
  return wasSent
    ? { code: 'CANCELLED', error: `${GONE}, and the tool was stopped; it may have run.`, mayHaveRun: true }
    : { code: 'CANCELLED', error: `${GONE}; nothing was run.` }
}

const GONE = 'The caller disconnected before the call had ended'

/** The reason and the message in a runner's error. Undefined if something else has answered, such as a proxy. */
export function reasonIn(body: Fields = {}): { readonly code: string; readonly message: string } | undefined {
  const { details, message } = fields(body['error'])
  const [first] = Array.isArray(details) ? (details as unknown[]) : []
  const { reason } = fields(first)
  return typeof reason === 'string' && typeof message === 'string' ? { code: reason, message } : undefined
}

export function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code)
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
