import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { isUtf8 } from 'node:buffer'
import { parseObject } from '../../parse-object.ts'
import type { AcceptedSpec, CheckedSpec, CheckReport } from '../../catalog/definitions/check-report.ts'
import type { ModuleFault, ModuleNote } from '../../catalog/definitions/check-report.ts'
import { contentSha256, mapContent, sentContent } from '../../catalog/definitions/module-content.ts'
import type { ModuleContent } from '../../catalog/definitions/module-content.ts'
import { isPackageLock } from '../../catalog/definitions/package-lock.ts'
import type { ModuleCheck } from '../../catalog/definitions/runner.ts'
import { either, isNull, isText, listOf, object, recordOf, type Test } from '../../value-shape.ts'
import { isCode, reasonIn, sentence } from './read-outcome.ts'
import type { NoAnswer, RunnerAnswer } from './runner-request.ts'

/** The most characters of a name that a runner reads. Every valid module name is shorter. */
const NAME_CHARACTERS_MAX = 128

/**
 * The body of a request for a check. If a file is not UTF-8, the files are sent in base64, so that the runner can report the
 * fault.
 */
export function checkBody({ name, tenant, lock, ...module }: ModuleCheck): string {
  return JSON.stringify({ name: name.slice(0, NAME_CHARACTERS_MAX), ...checkedContent(module), lock, tenant })
}

function checkedContent(content: ModuleContent<Uint8Array>) {
  const parts = content.files ? content.files.map((file) => file.content) : [content.source]
  const isText = parts.every((part) => isUtf8(part))
  const sent = sentContent(
    mapContent(content, (bytes) => bufferOf(bytes).toString(isText ? 'utf8' : 'base64')),
  )
  if (isText) return sent
  return sent.files ? { filesBase64: sent.files } : { sourceBase64: sent.source }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/**
 * Reads the report in a runner's answer. Throws RUNNER_UNAVAILABLE, RUNNER_BUSY, ISOLATION_UNAVAILABLE, PACKAGES_UNAVAILABLE or
 * PACKAGES_REFUSED.
 */
export function readCheck(answer: RunnerAnswer | NoAnswer, module: ModuleContent<Uint8Array>): CheckReport {
  if (!('httpStatus' in answer)) throw unavailable(answer.how)
  const { retryAfterSeconds, refusal } = answer
  const { httpStatus, body } = answered(answer)
  const isReport = isCheckReport(body) && 'sha256' in body && body.sha256 === contentSha256(module)
  if (httpStatus === 200 && isReport) return body
  const reason = reasonIn(body)
  const { code, message = '' } = reason ?? {}
  if (code === 'PACKAGES_UNAVAILABLE')
    throw new ToolrackError(code, `${sentence(message)} Nothing was written.`, { retryAfterSeconds })
  if (code === 'PACKAGES_REFUSED') {
    const detail = { reason: code, kind: 'packages_refused', message: sentence(message) } as const
    throw new ToolrackError(code, detail.message, { details: [detail] })
  }
  if (reason?.code === 'ISOLATION_UNAVAILABLE') throw new ToolrackError('ISOLATION_UNAVAILABLE')
  if (httpStatus === 429) {
    // The runner's own message is used if there is one, because it says whose checks occupy the runner. The message of a proxy is
    // not useful.
    const why = reason?.code === 'RUNNER_BUSY' ? reason.message : 'The runner has as many checks as it takes'
    throw new ToolrackError('RUNNER_BUSY', `Nothing was written: ${why}.`, { retryAfterSeconds })
  }
  if (httpStatus === 401 || httpStatus === 403) throw unavailable(refusal)
  const isOk = httpStatus === 200
  throw unavailable(isOk ? 'gave an answer that is not valid' : `answers with HTTP ${httpStatus}`)
}

/**
 * The status and the body of an answer. The last line of an answer with events has them as an answer without events would have
 * them.
 */
function answered({ httpStatus, text }: RunnerAnswer) {
  const { event, ...body } = parseObject(text) ?? {}
  if (event !== 'error') return { httpStatus, body }
  const { status, code, message } = body
  const details = [{ reason: code }]
  return { httpStatus: typeof status === 'number' ? status : 0, body: { error: { message, details } } }
}

/**
 * The error of a check without a report. Nothing is lost, because a check writes nothing. `how` can follow the words "The
 * runner".
 */
function unavailable(how: string): ToolrackError {
  return new ToolrackError('RUNNER_UNAVAILABLE', `The runner ${how}; nothing was written.`)
}

const isNumber: Test<number> = (value) => typeof value === 'number'
const isMissing: Test<undefined> = (value) => value === undefined

const isNote = object<ModuleNote>({ kind: isText, message: isText, line: either(isNumber, isMissing) })

const isFault = object<Omit<ModuleFault, 'pointer'>>({
  kind: isText,
  message: isText,
  line: either(isNumber, isMissing),
  code: isCode,
  traceback: either(isText, isMissing),
})

const ANY_SPEC = {
  line: either(isNumber, isNull),
  file: either(isText, isMissing),
  faults: listOf(isFault),
  notes: listOf(isNote),
  examples: listOf(isJsonObject),
}

const isSpec: Test<CheckedSpec> = either(
  object<AcceptedSpec>({
    ...ANY_SPEC,
    accepted: (value) => value === true,
    name: isText,
    description: isText,
    parameters: isJsonObject,
    derived: listOf(isText),
    annotations: either(isJsonObject, isNull),
    timeoutSeconds: either(isNumber, isNull),
    limits: either(either(isJsonObject, isNull), isMissing),
    secrets: listOf(isText),
    network: listOf(isText),
    reuse: either(either(isNumber, isNull), isMissing),
    onFailure: either(either(isJsonObject, isNull), isMissing),
    kinds: either(recordOf(listOf(isText)), isMissing),
  }),
  object({ ...ANY_SPEC, accepted: (value): value is false => value === false, name: either(isText, isNull) }),
)

/** True if the value is a report. It may have more keys, because a newer runner may send them. */
export const isCheckReport: Test<CheckReport> = object({
  faults: listOf(isFault),
  notes: listOf(isNote),
  imports: listOf(isText),
  missingImports: listOf(isText),
  tools: listOf(isSpec),
  log: object({ text: isText }),
  packages: either(isPackageLock, isMissing),
})
