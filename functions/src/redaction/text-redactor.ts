import { withoutCommandSecrets } from './command-secrets.ts'
import { KnownShapes } from './known-shapes.ts'
import { NamedSecrets } from './named-secrets.ts'
import type { Removed } from './redacted.ts'

/** Matches every text that may contain a secret. Most texts do not match, so they are not searched further. */
const MAY_HOLD =
  /[=:：＝{[>]|(?:^|[^\w-])-[-uUp]|%(?:25)*3[ad]|eyJ|sk|pk|rk|gh|hub|glpat|npm_|hf_|xox|xapp|ya29|SG\.|AIza|AKIA|ASIA|ABIA|ACCA|bearer|basic|BEGIN|slack|discord|telegram/i

/** False for a text that certainly contains no secret. */
export function mayHoldSecret(text: string): boolean {
  return MAY_HOLD.test(text)
}

/** Matches a line that may be JSON, with the end of the line. */
const JSON_LINE = /^([^\S\n]*[{[][^\n]*[}\]])([^\S\n]*(?:\n|$))/gm

/** Removes the secrets from the JSON of an object or a list. Returns undefined for any other text. */
export type RedactJson = (text: string) => string | undefined

/**
 * Removes recognized secrets from a text that arrives in whole lines. The lines must arrive in their order, because a secret can
 * continue over several lines.
 */
export class TextRedactor {
  readonly #redactJson: RedactJson
  readonly #removed: Removed | undefined
  readonly #shapes: KnownShapes
  readonly #named: NamedSecrets

  constructor(redactJson: RedactJson, removed?: Removed) {
    this.#redactJson = redactJson
    this.#removed = removed
    this.#shapes = new KnownShapes(removed)
    this.#named = new NamedSecrets(removed)
  }

  take(lines: string): string {
    if (!this.#shapes.isOpen && !this.#named.isOpen && !mayHoldSecret(lines)) return lines
    let shown = ''
    let from = 0
    for (const { 0: line, 1: json = '', 2: end = '', index } of lines.matchAll(JSON_LINE)) {
      shown += this.#withoutSecrets(lines.slice(from, index))
      const isValue = this.#shapes.isOpen || this.#named.awaitsValue
      const redacted = isValue ? undefined : this.#redactJson(json)
      shown += redacted === undefined ? this.#withoutSecrets(line) : redacted + end
      from = index + line.length
    }
    return shown + this.#withoutSecrets(lines.slice(from))
  }

  #withoutSecrets(lines: string): string {
    let shown = ''
    for (const part of this.#shapes.take(lines))
      shown += this.#named.take(withoutCommandSecrets(part, this.#removed))
    return shown
  }
}
