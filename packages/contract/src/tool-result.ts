import type { ErrorCode } from './error-code.ts'
import type { JsonValue } from './json.ts'

/**
 * What came of a call, in the shape that a model's framework takes; the service adds its `meta`. `Data` is the value
 * in whatever form it is held.
 */
export type ToolResult<Data = JsonValue> =
  | { readonly resultType: 'success'; readonly textResultForLlm: string; readonly data?: Data }
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
    const text = typeof returned === 'string' ? returned : jsonText(returned)
    if (!text.isWellFormed()) throw new TypeError('the result holds a lone surrogate, which is no text')
    if (typeof returned === 'string') return { resultType: 'success', textResultForLlm: text }
    return { resultType: 'success', textResultForLlm: text, data: JSON.parse(text) as JsonValue }
  } catch (error) {
    return toolFailure('RESULT_INVALID', error instanceof Error ? error.message : String(error))
  }
}

/** JSON.stringify drops or nulls what it can't write; a tool's author is to hear of it instead. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(value, function refuse(this: unknown, key: string, child: unknown) {
    const place = key === '' ? 'the result' : `'${key}' of the result`
    if (typeof child === 'number' && !Number.isFinite(child))
      throw new TypeError(`${place} is ${child}, which JSON has no form for`)
    if (child === undefined || typeof child === 'function' || typeof child === 'symbol')
      throw new TypeError(`${place} is ${typeof child}, which JSON has no form for`)
    // A lone surrogate would be escaped, and so be hidden from whoever checks the text.
    if (typeof child === 'string' && !child.isWellFormed())
      throw new TypeError(`${place} holds a lone surrogate, which is no text`)
    return child
  })
  return text
}
