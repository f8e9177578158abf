import { isJsonObject, ToolrackError } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { ModuleCheck, ModuleSource } from '../../tools/modules/runner.ts'
import type { CheckedModule } from '../../tools/modules/checked-module.ts'
import { readCheck } from './read-check.ts'
import type { NoAnswer, RunnerAnswer } from './runner-connection.ts'

/** The longest name that a runner looks at; none that long is allowed. */
const NAME_CHARACTERS_MAX = 128

/** The body of a request for a check. JSON has no form for bytes that are no UTF-8; what is wrong with them is the runner's to say. */
export function checkBody({ name, source, tenant }: ModuleCheck): string {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  const content = isUtf8(bytes)
    ? { source: bytes.toString('utf8') }
    : { sourceBase64: bytes.toString('base64') }
  return JSON.stringify({ name: name.slice(0, NAME_CHARACTERS_MAX), ...content, tenant })
}

/** What the runner has found out; `refusal` says, behind "The runner", what it means not to be let in. Throws RUNNER_UNAVAILABLE, RUNNER_BUSY or ISOLATION_UNAVAILABLE. */
export function checkedIn(
  answer: RunnerAnswer | NoAnswer,
  { source }: ModuleSource,
  refusal: string,
): CheckedModule {
  if (!('httpStatus' in answer)) throw unavailable(answer.how)
  const { httpStatus, text, retryAfterSeconds } = answer
  const checked = httpStatus === 200 ? readCheck(text, { sha256: hash('sha256', source) }) : undefined
  if (checked) return checked
  const { reason, message } = refusalIn(text)
  if (reason === 'ISOLATION_UNAVAILABLE') throw new ToolrackError('ISOLATION_UNAVAILABLE')
  if (httpStatus === 429) throw busy(reason === 'RUNNER_BUSY' ? message : undefined, retryAfterSeconds)
  if (httpStatus === 401 || httpStatus === 403) throw unavailable(refusal)
  throw unavailable(
    httpStatus === 200 ? 'answers with what no runner says' : `answers with HTTP ${httpStatus}`,
  )
}

function refusalIn(text: string): { readonly reason?: unknown; readonly message?: unknown } {
  try {
    const { error } = JSON.parse(text) as { error?: JsonObject }
    const details = error?.['details']
    const detail = Array.isArray(details) ? (details as JsonObject['details'][])[0] : undefined
    return { reason: isJsonObject(detail) ? detail['reason'] : undefined, message: error?.['message'] }
  } catch {
    return {}
  }
}

/** In the runner's words, which say whose fault it is; what stands before a runner says nothing of use. */
function busy(message: unknown, retryAfterSeconds: number | undefined): ToolrackError {
  const why = typeof message === 'string' ? message : 'The runner has as many checks as it takes'
  return new ToolrackError('RUNNER_BUSY', `Nothing was written: ${why}.`, { retryAfterSeconds })
}

/** A check changes nothing, so whatever became of it, nothing has happened. */
function unavailable(how: string): ToolrackError {
  return new ToolrackError('RUNNER_UNAVAILABLE', `The runner ${how}; nothing was written.`)
}
