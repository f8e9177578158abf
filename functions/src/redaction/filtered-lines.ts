import type { TextFilter } from './known-secrets.ts'
import { textRedactor } from './redact.ts'

/**
 * The most UTF-16 code units of an unfinished line that are held back. The output of a call that a runner sends has at most 64
 * KB.
 */
const HELD_MAX = 64 * 1024

/**
 * Removes secrets from a text that arrives in parts. A secret may begin in one part and end in another. So an unfinished line is
 * held back, and so is a text that can be the beginning of a known secret of the call. The work for a part grows only with its
 * length.
 */
export class FilteredLines {
  readonly #known: ReturnType<TextFilter['open']>
  readonly #redactor = textRedactor()
  /** The unfinished line, which is held back. */
  #held = ''

  constructor(filter: TextFilter) {
    this.#known = filter.open()
  }

  /** Takes the next part. Returns the text that can be shown now, which may be empty. */
  take(part: string): string {
    return this.#lines(this.#known.take(part))
  }

  /** Ends the text. Returns what was held back. */
  end(): string {
    const lines = this.#lines(this.#known.end())
    const rest = this.#held
    this.#held = ''
    return lines + this.#redactor.take(rest)
  }

  #lines(text: string): string {
    const end = text.lastIndexOf('\n') + 1
    if (end === 0) {
      this.#held += text
      return this.#held.length > HELD_MAX ? this.#flush() : ''
    }
    const lines = this.#held + text.slice(0, end)
    this.#held = text.slice(end)
    return this.#redactor.take(lines)
  }

  #flush(): string {
    const lines = this.#held
    this.#held = ''
    return this.#redactor.take(lines)
  }
}
