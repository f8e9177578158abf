import { ToolrackError } from '@toolrack/contract'
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { parseObject } from '../../parse-object.ts'
import type { ModuleCheck, ModuleSource } from '../../tools/modules/runner.ts'
import { isCheckReport } from './read-check.ts'
import { reasonIn } from './read-outcome.ts'
import type { NoAnswer, RunnerAnswer } from './runner-connection.ts'
import type { CheckReport } from '../../tools/modules/check-report.ts'

/** The longest name that a runner reads. Every valid module name is shorter. */
const NAME_CHARACTERS_MAX = 128

/** The body of a request for a check. Bytes that are not UTF-8 are sent in base64, and the runner reports their fault. */
export function checkBody({ name, source, tenant }: ModuleCheck): string {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  const content = isUtf8(bytes) ? { source: bytes.toString() } : { sourceBase64: bytes.toString('base64') }
  return JSON.stringify({ name: name.slice(0, NAME_CHARACTERS_MAX), ...content, tenant })
}

/** The report in a runner's answer. Throws RUNNER_UNAVAILABLE, RUNNER_BUSY or ISOLATION_UNAVAILABLE. */
export function readCheck(answer: RunnerAnswer | NoAnswer, { source }: ModuleSource): CheckReport {
  if (!('httpStatus' in answer)) throw unavailable(answer.how)
  const { httpStatus, retryAfterSeconds, refusal } = answer
  const body = parseObject(answer.text)
  const isReport = isCheckReport(body) && 'sha256' in body && body.sha256 === hash('sha256', source)
  if (httpStatus === 200 && isReport) return body
  const reason = reasonIn(body)
  if (reason?.code === 'ISOLATION_UNAVAILABLE') throw new ToolrackError('ISOLATION_UNAVAILABLE')
  if (httpStatus === 429) {
    // The runner's own message is used, because the runner knows whose checks use its places. A proxy's message is not useful.
    const why = reason?.code === 'RUNNER_BUSY' ? reason.message : 'The runner has as many checks as it takes'
    throw new ToolrackError('RUNNER_BUSY', `Nothing was written: ${why}.`, { retryAfterSeconds })
  }
  if (httpStatus === 401 || httpStatus === 403) throw unavailable(refusal)
  const isOk = httpStatus === 200
  throw unavailable(isOk ? 'gave an answer that is not valid' : `answers with HTTP ${httpStatus}`)
}

/** A check writes nothing, so nothing is lost if it fails. `how` follows the words "The runner". */
function unavailable(how: string): ToolrackError {
  return new ToolrackError('RUNNER_UNAVAILABLE', `The runner ${how}; nothing was written.`)
}
