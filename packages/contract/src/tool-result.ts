import type { ErrorCode } from './error-code.ts'
import type { JsonValue } from './json.ts'

/** What came of a call, in the shape that a model's framework takes; the service adds its `meta`. */
export type ToolResult =
  | { readonly resultType: 'success'; readonly textResultForLlm: string; readonly data?: JsonValue }
  | {
      readonly resultType: 'failure'
      readonly textResultForLlm: string
      readonly error: string
      readonly code: ErrorCode
    }

/** The result of a call that failed; `error` is a sentence that the model can act on. */
export function toolFailure(code: ErrorCode, error: string): ToolResult {
  return { resultType: 'failure', textResultForLlm: error, error, code }
}

/** The result of what a tool returned: a string is the text as it is, anything else its JSON; what JSON has no form for is a failure. */
export function toolResult(returned: unknown): ToolResult {
  try {
    const text = jsonText(returned)
    if (typeof returned === 'string') return { resultType: 'success', textResultForLlm: returned }
    return { resultType: 'success', textResultForLlm: text, data: JSON.parse(text) as JsonValue }
  } catch (error) {
    return toolFailure('RESULT_INVALID', error instanceof Error ? error.message : String(error))
  }
}

/** JSON.stringify drops or nulls what it can't write; a tool's author is to hear of it instead. */
function jsonText(value: unknown): string {
  return JSON.stringify(value, function refuse(this: unknown, key: string, child: unknown) {
    const fault = faultOf(child)
    if (fault) throw new TypeError(`${key === '' ? 'the result' : `'${key}' of the result`} ${fault}`)
    return child
  })
}

function faultOf(value: unknown): string | undefined {
  // A lone surrogate would be escaped, and so be hidden from whoever checks the text.
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : 'holds a lone surrogate, which is no text'
  const isWritten = Number.isFinite(value) || typeof value === 'object' || typeof value === 'boolean'
  // JSON.stringify itself throws on the others.
  if (isWritten || typeof value === 'bigint') return undefined
  return `is ${typeof value === 'number' ? value : typeof value}, which JSON has no form for`
}
