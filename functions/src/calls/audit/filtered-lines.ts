import type { TextFilter } from './known-secrets.ts'
import { OPEN_NAME } from './named-secrets.ts'
import { isSecretName } from './secret-names.ts'

/** The most UTF-16 code units that are held back. A runner sends no more than 64 KB of what one call prints. */
const HELD_MAX = 64 * 1024

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?![^]*-----END )/
/** The word before a token, which is on the next line. */
const OPEN_TOKEN = /\b(?:bearer|basic)$/i
/** The most UTF-16 code units that OPEN_NAME matches, and some more. */
const OPEN_END_MAX = 100

/**
 * Filters a text that comes in parts. A part can end within a secret, so what could be the beginning of one is held back: an
 * unfinished line, and lines with an unfinished secret of several lines.
 */
export class FilteredLines {
  readonly #filter: TextFilter
  #held = ''

  constructor(filter: TextFilter) {
    this.#filter = filter
  }

  /** Takes the next part. Returns what can be shown now, which may be empty. */
  take(part: string): string {
    this.#held += part
    if (this.#held.length > HELD_MAX) return this.end()
    const end = endOfLines(this.#held, this.#filter.ofSeveralLines)
    const lines = this.#held.slice(0, end)
    this.#held = this.#held.slice(end)
    return this.#filter(lines)
  }

  /** Returns the rest. */
  end(): string {
    const rest = this.#held
    this.#held = ''
    return this.#filter(rest)
  }
}

/** The end of the lines in which no secret can be unfinished. */
function endOfLines(text: string, secrets: readonly string[]): number {
  let end = text.lastIndexOf('\n') + 1
  for (let before = -1; before !== end;) {
    before = end
    const lines = text.slice(0, end)
    const key = PRIVATE_KEY.exec(lines)
    if (key) end = startOfLine(lines, key.index)
    const used = lines.trimEnd()
    const last = used.slice(-OPEN_END_MAX)
    if (OPEN_TOKEN.test(last) || isSecretName(OPEN_NAME.exec(last)?.[1] ?? ''))
      end = Math.min(end, used.lastIndexOf('\n') + 1)
    for (const secret of secrets) end = Math.min(end, end - lengthOfBeginning(secret, text.slice(0, end)))
  }
  return end
}

function startOfLine(text: string, index: number): number {
  return text.lastIndexOf('\n', index - 1) + 1
}

/** How much of the end of the lines is the beginning of the secret, which then goes on with the next line. */
function lengthOfBeginning(secret: string, lines: string): number {
  for (let at = secret.lastIndexOf('\n', secret.length - 2); at >= 0; at = secret.lastIndexOf('\n', at - 1)) {
    if (lines.endsWith(secret.slice(0, at + 1))) return at + 1
    if (at === 0) break
  }
  return 0
}
