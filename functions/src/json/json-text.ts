import { holdsLargeInteger, type JsonValue, type ToolResult } from '@toolrack/contract'

/** The most UTF-16 code units of a short text. A text of this length is parsed in less than a millisecond. */
const SHORT_LENGTH = 8_192

/** Matches a number with an exponent, or with 16 digits or more. The first integer that may be inexact, 2^53, has 16 digits. */
const MAYBE_LARGE = /(?:^|[[,:])\s*-?(?:\d{16}|\d[\d.]*[eE])/

/**
 * The texts that the present call of `jsonOf` inserts. `toJSON` adds them. There is only one call at a time, because
 * JSON.stringify is synchronous.
 */
let writing: { readonly mark: string; readonly texts: string[] } | undefined

/**
 * A JSON value that stays a text, because the service does not use the value itself. Parsing 256 KiB and writing them again took
 * 15 to 40 ms, in which the service answers no other request. `jsonOf` inserts the text. JSON.stringify alone would write the
 * parsed value.
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /**
   * True if the value is not null, and JavaScript reads all its integers exactly. Only a short text is parsed to find this out.
   * For a longer text the result is false too if a string contains what looks like a large number.
   */
  isExact(): boolean {
    if (this.text === 'null') return false
    if (!MAYBE_LARGE.test(this.text)) return true
    return this.text.length <= SHORT_LENGTH && !holdsLargeInteger(JSON.parse(this.text))
  }

  toJSON(): JsonValue {
    if (!writing) return JSON.parse(this.text) as JsonValue
    writing.texts.push(this.text)
    return writing.mark
  }
}

/** The JSON of a value. In place of each JsonText it has its text. Throws the errors of JSON.stringify. */
export function jsonOf(value: unknown): string {
  // The mark is random, so no string that somebody sent can equal it.
  const { mark, texts } = (writing = { mark: crypto.randomUUID(), texts: [] as string[] })
  try {
    const outline = JSON.stringify(value)
    if (texts.length === 0) return outline
    const parts = outline.split(`"${mark}"`)
    return parts.map((part, index) => part + (texts[index] ?? '')).join('')
  } finally {
    writing = undefined
  }
}

/** The result of a tool that has returned JSON. The text and the data of the result are both this JSON, unchanged. */
export function toolResultOfJson(json: string): ToolResult<JsonText> {
  return { resultType: 'success', textResultForLlm: json, data: new JsonText(json) }
}
