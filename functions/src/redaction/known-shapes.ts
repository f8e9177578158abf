import { REDACTED, type Removed } from './redacted.ts'

/**
 * Patterns of secrets with a known shape. The first group of a match stays in the text, and the rest is removed. Strangers choose
 * the texts, so every pattern must take linear time. Therefore a pattern only begins at the start of a word, and repeats one
 * class of characters.
 */
const SHAPES: readonly RegExp[] = [
  // Headers whose whole value is a secret.
  /(\b(?:authorization|proxy-authorization|cookie|set-cookie)["']?[^\S\n]{0,3}[:=][^\S\n]{0,3})[^\r\n"'{}]+/gi,
  // The user and the password of a URL, up to the last `@` before its path, because a password can contain an `@`.
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>]{1,1024}(?=@)/gi,
  /()(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){1,3}/g,
  /()(?<![\w-])(?:sk|pk|rk)[-_][\w-]{12,}/g,
  /()(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|xox[a-z]-|xapp-|ya29\.|SG\.|AIza)[\w.-]{10,}/g,
  /()(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}/g,
  // The addresses of webhooks and bots. Whoever knows such an address can use it.
  /(hooks\.slack\.com\/|discord(?:app)?\.com\/api\/webhooks\/|api\.telegram\.org\/bot)[\w/:-]{8,}/gi,
  /(\b(?:bearer|basic)[^\S\n]+)[\w.~+/=-]{8,}/gi,
]

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----/
const KEY_END = /-----END [A-Z0-9 ]{0,60}-----/

/** Matches the word `bearer` or `basic` at the end of a line. Its token follows on a later line. */
const TOKEN_BELOW = /\b(?:bearer|basic)[^\S\n]*\n\s*/gi
const TOKEN = /^(\s*)[\w.~+/=-]{8,}/

/** Removes secrets with a known shape from a text that arrives in whole lines. */
export class KnownShapes {
  readonly #removed: Removed | undefined
  #isInKey = false
  #awaitsToken = false

  constructor(removed?: Removed) {
    this.#removed = removed
  }

  /** True if the next lines may begin with the rest of a secret that has begun before. */
  get isOpen(): boolean {
    return this.#isInKey || this.#awaitsToken
  }

  /** Yields the lines without secrets, in parts. Each private key ends a part, and the text after it is searched separately. */
  *take(lines: string): Generator<string> {
    let rest = lines
    while (rest !== '') {
      const found = (this.#isInKey ? KEY_END : KEY_BEGIN).exec(rest)
      const end = found ? found.index + found[0].length : rest.length
      if (this.#isInKey) this.#removed?.(rest.slice(0, end))
      else yield this.#withoutShapes(rest.slice(0, found?.index ?? end)) + (found ? REDACTED : '')
      if (found) this.#isInKey = !this.#isInKey
      rest = rest.slice(end)
    }
  }

  #withoutShapes(text: string): string {
    let shown = ''
    let from = 0
    for (const { 0: all, index } of text.matchAll(TOKEN_BELOW)) {
      const end = index + all.length
      shown += this.#withoutShapesAbove(text.slice(from, end))
      this.#awaitsToken = true
      from = end
    }
    return shown + this.#withoutShapesAbove(text.slice(from))
  }

  #withoutShapesAbove(text: string): string {
    let shown = text
    if (this.#awaitsToken) {
      shown = this.#without(TOKEN, text)
      this.#awaitsToken = text.trim() === ''
    }
    for (const pattern of SHAPES) shown = this.#without(pattern, shown)
    return shown
  }

  #without(pattern: RegExp, text: string): string {
    // oxlint-disable-next-line toolrack/linear-texts -- The patterns are constants of this file.
    return text.replace(pattern, (all: string, kept: string) => {
      this.#removed?.(all.slice(kept.length))
      return kept + REDACTED
    })
  }
}
