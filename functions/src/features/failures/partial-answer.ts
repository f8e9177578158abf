import type { ToolResult } from '@toolrack/contract'
import type { CallOutcome, ResultData } from '../../calls/call.ts'
import { JsonText } from '../../json/json-text.ts'
import { redactText } from '../../redaction/redact.ts'

/** The most UTF-8 bytes of a partial result. A model gets no longer text in one piece, and nobody keeps the rest. */
export const PARTIAL_BYTES_MAX = 32 * 1024

/** The most characters of the error in a partial result: enough for the last lines of a traceback. */
const ERROR_CHARACTERS_MAX = 2_000

/** Collects the values that a tool yields, for the case that it fails before its end. */
export class PartialAnswer {
  readonly #values: JsonText[] = []
  #bytes = 0
  #isFull = false

  /** Adds a value, unless it would make the result too large. Then it and all later ones are left out. */
  add(value: ResultData): void {
    const json = value instanceof JsonText ? value : new JsonText(JSON.stringify(value))
    this.#bytes += Buffer.byteLength(json.text) + 1
    this.#isFull ||= this.#bytes > PARTIAL_BYTES_MAX
    if (!this.#isFull) this.#values.push(json)
  }

  /**
   * The partial result of a call with this outcome: what the tool has yielded or, if it has yielded nothing, the end of what it
   * has printed. Undefined if there is neither.
   */
  resultOf(tool: string, failed: CallOutcome): ToolResult<ResultData> | undefined {
    const part = this.#yielded() ?? printed(failed)
    if (!part) return undefined
    const { text, data } = part
    const note = noteOf(tool, failed)
    return { resultType: 'success', textResultForLlm: `${text}\n\n${note}`, ...(data && { data }) }
  }

  #yielded(): { readonly text: string; readonly data?: JsonText } | undefined {
    if (this.#values.length === 0) return undefined
    if (this.#values.every(({ text }) => text.startsWith('"')))
      return { text: this.#values.map(({ text }) => JSON.parse(text) as string).join('') }
    const text = `[${this.#values.map((value) => value.text).join(',')}]`
    return { text, data: new JsonText(text) }
  }
}

function printed({ log }: CallOutcome): { readonly text: string; readonly data?: undefined } | undefined {
  const text = redactText(log?.text ?? '').trim()
  if (text === '') return undefined
  const bytes = Buffer.from(text)
  if (bytes.length <= PARTIAL_BYTES_MAX) return { text }
  // The end says most about how far the tool has come. A character that was cut becomes a replacement character.
  return { text: bytes.subarray(-PARTIAL_BYTES_MAX).toString() }
}

function noteOf(tool: string, { result }: CallOutcome): string {
  const { code, error } = result.resultType === 'failure' ? result : { code: 'INTERNAL', error: '' }
  const shown = error.length > ERROR_CHARACTERS_MAX ? `…${error.slice(-ERROR_CHARACTERS_MAX)}` : error
  return `This is only a part of the result: ${tool} failed before its end (${code}). ${shown}`
}
