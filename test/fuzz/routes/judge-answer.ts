import { ERROR_CODES, isJsonObject, parsedJson } from '@toolrack/contract'
import type { ErrorCode } from '@toolrack/contract'
import type { Fault } from '../rounds.ts'
import type { WireAnswer } from './wire-answers.ts'

/** Codes that mean the service or the runner failed, whatever was sent; no request is to bring them about. */
const NEVER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INTERNAL',
  'WORKER_DIED',
  'RUNNER_UNAVAILABLE',
  'LAYER_UNAVAILABLE',
  'KEYS_UNAVAILABLE',
  'STORE_BUSY',
  'STORE_FULL',
  'STORE_FAILED',
  'ISOLATION_UNAVAILABLE',
  'MODULE_UNKNOWN',
])
/** A line of a JavaScript stack, or of the runner's own Python. */
const STACK = /\\n +at |node:internal|toolrack_runner/

/** What is wrong with an answer by the contract; `hidden` are texts that its reader must not see. */
export function judgeAnswer(
  answer: WireAnswer,
  isHead: boolean,
  hidden: readonly string[],
): Fault | undefined {
  const whole = `${JSON.stringify(answer.headers)}\n${answer.body}`
  const seen = hidden.find((text) => text !== '' && whole.includes(text))
  if (seen !== undefined) return fault('an answer holds what its reader must not see', answer, seen)
  if (STACK.test(answer.body)) return fault('an answer holds a stack', answer)
  if (isHead) return undefined
  const shape = shapeFault(answer)
  return shape === undefined ? undefined : fault(shape, answer)
}

function fault(kind: string, answer: WireAnswer, seen = ''): Fault {
  const head = `${answer.status} ${JSON.stringify(answer.headers)}`
  return { kind: seen === '' ? kind : `${kind}: ${seen}`, detail: `${head} ${answer.body.slice(0, 800)}` }
}

function shapeFault({ status, headers, body }: WireAnswer): string | undefined {
  if (status === 100 || status === 304 || status === 204)
    return body === '' ? undefined : `a ${status} has a body`
  if (isFrontPage(status, headers, body)) return undefined
  if (headers['content-type'] !== 'application/json; charset=utf-8') return 'an answer is not said to be JSON'
  const value = parsedJson(body)
  if (value === undefined) return 'an answer is no JSON'
  if (status === 200 || status === 201) return isJsonObject(value) ? successFault(value, status) : undefined
  if (!headers['cache-control']?.includes('no-store')) return 'an error may be cached'
  if (!isJsonObject(value)) return 'an error is no object'
  return 'resultType' in value ? resultFault(value, status, headers) : errorFault(value, status, headers)
}

/** The only answer that is no JSON. */
function isFrontPage(status: number, headers: Headers, body: string): boolean {
  const isText = /^text\/(?:plain|html); charset=utf-8$/.test(headers['content-type'] ?? '')
  const isStrict = headers['content-security-policy']?.startsWith("default-src 'none';")
  return status === 200 && isText && isStrict === true && /^(?:Toolrack |<!doctype html>)/.test(body)
}

type Fields = Readonly<Record<string, unknown>>
type Headers = WireAnswer['headers']

/** A 200 may be the result of a tool that has failed itself. */
function successFault(value: Fields, status: number): string | undefined {
  if ('error' in value && !('resultType' in value)) return 'a success has the field error'
  return value['resultType'] === 'failure' ? resultFault(value, status, {}) : undefined
}

function resultFault(
  { resultType, textResultForLlm, error, code, meta }: Fields,
  status: number,
  headers: Headers,
) {
  const isWhole = resultType === 'failure' && typeof error === 'string' && error === textResultForLlm
  if (!isWhole || !isJsonObject(meta)) return 'a ToolResult has not the shape of one'
  return codeFault(code, status, headers)
}

function errorFault({ error, ...others }: Fields, status: number, headers: Headers): string | undefined {
  if (typeof error === 'string') return originalFault(error, others, status, headers)
  if (!isJsonObject(error) || Object.keys(others).length > 0) return 'an error has not the shape of one'
  const { code, status: word, message, details, ...rest } = error
  const isWhole = code === status && typeof message === 'string' && message !== '' && Array.isArray(details)
  if (!isWhole || Object.keys(rest).length > 0 || details.length === 0)
    return 'an error has not the shape of one'
  for (const detail of details) {
    const reason: unknown = isJsonObject(detail) ? detail['reason'] : undefined
    if (typeof reason !== 'string' || !Object.hasOwn(ERROR_CODES, reason))
      return `an error has a reason that is not in the list: ${String(reason)}`
  }
  const [{ reason }] = details as unknown as [{ readonly reason: ErrorCode }]
  // What a tool has failed at itself is a 200 as the result of a call, and refuses the upload of its module.
  if (ERROR_CODES[reason].httpStatus === 200)
    return status === 422 && word === 'INVALID_ARGUMENT'
      ? undefined
      : `${reason} came with the status ${status}`
  if (ERROR_CODES[reason].status !== word)
    return `the status ${JSON.stringify(word)} is not that of ${reason}`
  return codeFault(reason, status, headers)
}

/** What is wrong with an error of the original service's routes, which is a text alone. */
function originalFault(error: string, others: object, status: number, headers: Headers): string | undefined {
  if (error === '' || Object.keys(others).length > 0) return 'an error has not the shape of one'
  if (status >= 500) return `a request was answered ${status}`
  if (status === 401 && headers['www-authenticate'] === undefined)
    return 'a 401 came without WWW-Authenticate'
  return status === 405 && headers['allow'] === undefined ? 'a 405 came without Allow' : undefined
}

function codeFault(code: unknown, status: number, headers: Headers): string | undefined {
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code))
    return `a code is not in the list: ${String(code)}`
  const known = code as ErrorCode
  const { httpStatus, retry } = ERROR_CODES[known]
  if (NEVER.has(known)) return `a request was answered ${known}`
  if (httpStatus !== status) return `${known} came with the status ${status}`
  if (retry && headers['retry-after'] === undefined) return `${known} came without Retry-After`
  if (status === 401 && headers['www-authenticate'] === undefined)
    return 'a 401 came without WWW-Authenticate'
  if (status === 405 && headers['allow'] === undefined) return 'a 405 came without Allow'
  return undefined
}
