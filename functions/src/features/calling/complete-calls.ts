import { answerCalls, CALL_FORMATS, isJsonObject, readCalls, ToolrackError } from '@toolrack/contract'
import type { CallFormatName, ToolCall, ToolResult, JsonObject, JsonValue } from '@toolrack/contract'

type CompletedCalls = {
  readonly answer: {
    readonly format: CallFormatName
    /** The messages for all calls, in their order. */
    readonly messages: readonly JsonObject[]
  }
  /** Each call with the result that the caller reports for it. */
  readonly reported: readonly { readonly call: ToolCall; readonly result: ToolResult<unknown> }[]
}

/**
 * Writes the messages for a model's calls from results that the caller reports. It runs nothing and keeps nothing. Throws
 * CALLS_INVALID if the calls cannot be read, and BODY_INVALID unless there is exactly one result for each call.
 */
export function completeCalls(body: JsonValue): CompletedCalls {
  const { format: sent, calls = null, results = [], ...rest } = isJsonObject(body) ? body : {}
  if (sent === undefined || Object.keys(rest).length > 0) throw invalid(SHAPE)
  const read = readCalls(calls, CALL_FORMATS)
  if ('fault' in read) throw new ToolrackError('CALLS_INVALID', `The field calls ${read.fault}.`)
  const { format } = read
  if (sent !== format.name)
    throw invalid(`The calls have the format ${format.name}, but the field format has another value.`)
  const answered = answerCalls(read.calls, results)
  if ('fault' in answered) throw invalid(`The list of results ${answered.fault}.`)
  const reported = read.calls.flatMap((call, at) =>
    answered[at] ? [{ call, result: answered[at].result }] : [],
  )
  return { answer: { format: format.name, messages: format.messages(answered) }, reported }
}

const SHAPE = 'The body must be a JSON object with the fields format, calls and results, and no others.'

function invalid(message: string): ToolrackError {
  return new ToolrackError('BODY_INVALID', message)
}
