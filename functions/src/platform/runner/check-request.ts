import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { ModuleCheck, ModuleSource } from '../../tools/modules/runner.ts'
import { isCheckReport } from './read-check.ts'
import type { NoAnswer, RunnerAnswer } from './runner-connection.ts'
import type { CheckReport } from '../../tools/modules/check-report.ts'

/** The longest name that a runner reads. No module may have a name that long. */
const NAME_CHARACTERS_MAX = 128

/** The body of a request for a check. JSON cannot hold bytes that are not UTF-8. The runner gets them in base64, and says what is wrong with them. */
export function checkBody({ name, source, tenant }: ModuleCheck): string {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  const content = isUtf8(bytes)
    ? { source: bytes.toString('utf8') }
    : { sourceBase64: bytes.toString('base64') }
  return JSON.stringify({ name: name.slice(0, NAME_CHARACTERS_MAX), ...content, tenant })
}

/**
 * The report in a runner's answer. `refusal` is put behind "The runner" if it does not let the service in.
 * Throws RUNNER_UNAVAILABLE, RUNNER_BUSY or ISOLATION_UNAVAILABLE.
 */
export function readCheck(
  answer: RunnerAnswer | NoAnswer,
  { source }: ModuleSource,
  refusal: string,
): CheckReport {
  if (!('httpStatus' in answer)) throw unavailable(answer.how)
  const { httpStatus, retryAfterSeconds } = answer
  const body = parse(answer.text)
  if (httpStatus === 200 && isReportOn(source, body)) return body
  const { reason, message } = errorIn(body)
  if (reason === 'ISOLATION_UNAVAILABLE') throw new ToolrackError('ISOLATION_UNAVAILABLE')
  if (httpStatus === 429) throw busy(reason === 'RUNNER_BUSY' ? message : undefined, retryAfterSeconds)
  if (httpStatus === 401 || httpStatus === 403) throw unavailable(refusal)
  throw unavailable(
    httpStatus === 200 ? 'gave an answer that is not valid' : `answers with HTTP ${httpStatus}`,
  )
}

/** True if this is a report, and on the source that was sent. */
function isReportOn(source: Uint8Array, body: unknown): body is CheckReport {
  return isJsonObject(body) && body['sha256'] === hash('sha256', source) && isCheckReport(body)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function errorIn(body: unknown): { readonly reason?: unknown; readonly message?: unknown } {
  const error = isJsonObject(body) ? body['error'] : undefined
  if (!isJsonObject(error)) return {}
  const details: unknown = error['details']
  const detail: unknown = Array.isArray(details) ? details[0] : undefined
  return { reason: isJsonObject(detail) ? detail['reason'] : undefined, message: error['message'] }
}

/** In the words of the runner, which knows whose checks take the place. The words of a proxy in front of it say nothing useful. */
function busy(message: unknown, retryAfterSeconds: number | undefined): ToolrackError {
  const why = typeof message === 'string' ? message : 'The runner has as many checks as it takes'
  return new ToolrackError('RUNNER_BUSY', `Nothing was written: ${why}.`, { retryAfterSeconds })
}

/** A check writes nothing, so nothing is lost if it fails. `how` is put behind "The runner". */
function unavailable(how: string): ToolrackError {
  return new ToolrackError('RUNNER_UNAVAILABLE', `The runner ${how}; nothing was written.`)
}
