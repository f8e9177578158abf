import { holdsLargeInteger, type JsonValue, type ToolResult } from '@toolrack/contract'

/** The most UTF-16 code units of a short text. A text of this length is parsed in less than a millisecond. */
const SHORT_LENGTH = 8_192

/** Matches a number with an exponent, or with 16 digits or more. The first integer that may be inexact, 2^53, has 16 digits. */
const MAYBE_LARGE = /(?:^|[[,:])\s*-?(?:\d{16}|\d[\d.]*[eE])/

/**
 * The texts of the `jsonOf` that runs now. `toJSON` adds to them. Nothing else runs meanwhile, because JSON.stringify is
 * synchronous.
 */
let writing: { readonly mark: string; readonly texts: string[] } | undefined

/**
 * A JSON value that is kept as its text, because the service does not use the value. To parse 256 KiB and write them again took
 * 15 to 40 ms, in which no other request is answered. `jsonOf` writes the text; JSON.stringify alone writes the parsed value.
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /**
   * True if the value is not null and JavaScript reads its integers exactly. Only a short text is parsed for this answer. In a
   * longer text, the answer is false even if only a string contains what looks like a large number.
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

/** The JSON of a value, with the text of each JsonText in its place. Throws the errors of JSON.stringify. */
export function jsonOf(value: unknown): string {
  // The mark is random, so no string that somebody sent equals it.
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

/** The result of a tool that answered with JSON. The text and the data of the result are this JSON, unchanged. */
export function toolResultOfJson(json: string): ToolResult<JsonText> {
  return { resultType: 'success', textResultForLlm: json, data: new JsonText(json) }
}
