import { nameBefore } from './name-before.ts'
import { REDACTED, type Removed } from './redacted.ts'
import { ReplacedText } from './replaced-text.ts'
import { isCountName, isLabel, isLabelled, isSecretName } from './secret-names.ts'
import { openValueEnd, valueEnd, type OpenValue, type ValueEnd } from './secret-value.ts'
import { isBelowKey, keyColumn, lastLine, lineAt } from './yaml-lines.ts'

/**
 * Matches the sign between a name and its value: `name=value`, `name: value`, `"name" => "value"` and `<name>value`. The sign can
 * be percent-encoded, or a full-width character.
 */
const SIGN = /[:=：＝]{1,3}>?|>|%(?:25){0,3}3[ad]/gi

/**
 * Matches the rest of a line if the value begins only on the next line. In YAML, the line may have a tag, an anchor, `|` or `>`,
 * and a comment.
 */
const VALUE_BELOW = /((?:[!&]\S{1,64}[^\S\n]*){0,2})([|>][-+0-9]{0,2}(?:[^\S\n]+#[^\n]*)?)?[^\S\n]*(?:\n|$)/y

/** The most blank lines between the name of a secret and its value. After more blank lines, a text is not the value. */
const BLANK_LINES_MAX = 2

/** Matches names of headers after which the whole line is a secret. */
const WHOLE_LINE = /cookie|authorization/i

/** Notes that the value of a name begins on the next lines. `column` is the column of the name in YAML, or -1. */
type Below = {
  readonly kind: 'below'
  readonly column: number
  readonly blanksLeft: number
  readonly isWholeLine: boolean
  /** True after `|` or `>` in YAML: the value is a text, and not a list. */
  readonly isText: boolean
}

/** Notes that the value of a name is a block: all lines that are indented more than the name. */
type Block = Pick<Below, 'column' | 'isText'> & { readonly kind: 'block'; readonly isShown: boolean }

/** The most lines between a label (`name: password`) and its value (`value: …`). */
const LABELLED_WITHIN_LINES = 2

/** Removes the values that follow names of secrets. The text arrives in whole lines. */
export class NamedSecrets {
  readonly #removed: Removed | undefined
  #open: OpenValue | Below | Block | undefined
  #labelLines = 0
  /** The beginning of the last line, if the last text ended within a line. Otherwise empty. */
  #lineBefore = ''

  constructor(removed?: Removed) {
    this.#removed = removed
  }

  /** True if the next lines may begin with a secret, or with the rest of one. */
  get awaitsValue(): boolean {
    return this.#open !== undefined
  }

  /** True if the result for the next text depends on the texts before it. */
  get isOpen(): boolean {
    return this.awaitsValue || this.#labelLines > 0
  }

  take(lines: string): string {
    const shown = new ReplacedText(lines)
    let labelEnd = endOfLines(lines, 0, this.#labelLines)
    let at = this.#open ? this.#goOn(lines, 0, shown) : 0
    while (at < lines.length) {
      SIGN.lastIndex = at
      const sign = SIGN.exec(lines)
      if (!sign) break
      const found = nameBefore(lines, at, sign.index)
      const end = sign.index + sign[0].length
      at = end
      if (!found) continue
      const { name, start } = found
      const isSecret = isSecretName(name) || (sign.index < labelEnd && isLabelled(name))
      if (isClosingTag(lines, start, sign[0])) continue
      if (isSecret) at = this.#value(lines, { name, start, sign: sign[0], end }, shown)
      else if (isLabel(name) && isSecretName(wordAt(lines, end)))
        labelEnd = endOfLines(lines, end, LABELLED_WITHIN_LINES)
    }
    this.#labelLines = Math.max(0, labelEnd - lines.length)
    this.#lineBefore = lastLine(this.#lineBefore, lines)
    return shown.end()
  }

  /** Removes the value of a name. Returns the position after the value. */
  #value(text: string, named: Named, shown: ReplacedText): number {
    const at = afterBlanks(text, named.end)
    const below = matched(VALUE_BELOW, text, at)
    if (below) {
      const [all, tag = '', indicator] = below
      // A text that looks like a tag or an anchor of YAML may be the secret itself, so it is removed.
      if (tag !== '') this.#replace(shown, at, at + tag.trimEnd().length, REDACTED)
      this.#open = {
        kind: 'below',
        column: keyColumn(this.#lineBefore, text, named.start),
        blanksLeft: BLANK_LINES_MAX,
        isWholeLine: WHOLE_LINE.test(named.name),
        isText: indicator !== undefined,
      }
      return this.#goOn(text, at + all.length, shown)
    }
    const { end, open } = isTag(text, named) ? { end: tagEnd(text, at), open: undefined } : valueEnd(text, at)
    const value = text.slice(at, end)
    if (value === '' || isCount(named.name, value)) return end
    this.#replace(shown, at, end, quotedAs(value))
    this.#open = open
    return end
  }

  /** Removes the rest of a value that continues from an earlier line. Returns the position where the value ends. */
  #goOn(text: string, from: number, shown: ReplacedText): number {
    let at = from
    while (this.#open && at < text.length) {
      const open = this.#open
      if (open.kind === 'below') at = this.#goBelow(text, at, open, shown)
      else if (open.kind === 'block') at = this.#goThroughBlock(text, at, open, shown)
      else {
        const value: ValueEnd = openValueEnd(text, at, open)
        this.#replace(shown, at, value.end, '')
        this.#open = value.open
        at = value.end
      }
    }
    return at
  }

  #goBelow(text: string, at: number, open: Below, shown: ReplacedText): number {
    const line = lineAt(text, at)
    if (line.isBlank) {
      this.#open = open.blanksLeft > 0 ? { ...open, blanksLeft: open.blanksLeft - 1 } : undefined
      return line.next
    }
    const { column, isText } = open
    this.#open = undefined
    if (isBelowKey(line, column, isText)) this.#open = { kind: 'block', column, isText, isShown: false }
    else if (!isText && !(column >= 0 && line.isKey)) {
      const value: ValueEnd = open.isWholeLine ? { end: line.end } : valueEnd(text, line.start)
      if (value.end === line.start) return at
      this.#replace(shown, line.start, value.end, quotedAs(text.slice(line.start, value.end)))
      this.#open = value.open
      return value.end
    }
    return at
  }

  #goThroughBlock(text: string, at: number, open: Block, shown: ReplacedText): number {
    const line = lineAt(text, at)
    if (line.isBlank) return line.next
    if (!isBelowKey(line, open.column, open.isText)) {
      this.#open = undefined
      return at
    }
    // The first line of the block is replaced by a placeholder. All further lines of the block are removed.
    if (open.isShown) this.#replace(shown, at, line.next, '')
    else this.#replace(shown, line.start, line.end, REDACTED)
    this.#open = { ...open, isShown: true }
    return line.next
  }

  #replace(shown: ReplacedText, from: number, to: number, by: string): void {
    const secret = shown.put(from, to, by).trim()
    if (!this.#removed) return
    const unquoted = /^(?:[bBrRuUfF]{0,2}|\\{1,4})(["'])([^]*?)\\{0,4}\1?$/.exec(secret)?.[2]
    this.#removed(unquoted ?? secret)
    // If the removed line is an item of a list or a member of a mapping, its value alone is a secret too.
    const [, item] = /^(?:-[^\S\n]+)?(?:["']?[^\s:"']{1,64}["']?:[^\S\n]+)?(\S[^]*)$/.exec(secret) ?? []
    if (item !== undefined && item !== secret) this.#removed(item)
  }
}

type Named = { readonly name: string; readonly start: number; readonly sign: string; readonly end: number }

/** True if the name is in an opening tag: `<name>` or `<prefix:name>`. */
function isTag(text: string, { start, sign }: Named): boolean {
  return sign === '>' && /<(?:[\w.-]{1,64}:)?$/.test(text.slice(Math.max(0, start - 66), start))
}

function isClosingTag(text: string, start: number, sign: string): boolean {
  return sign === '>' && /<\/(?:[\w.-]{1,64}:)?$/.test(text.slice(Math.max(0, start - 67), start))
}

function tagEnd(text: string, at: number): number {
  return at + (/^[^<\n]*/.exec(text.slice(at))?.[0].length ?? 0)
}

/** The position after `count` more line breaks. If the text has fewer, each missing line break counts as one character. */
function endOfLines(text: string, from: number, count: number): number {
  let end = count > 0 ? from : 0
  for (let left = count; left > 0; left -= 1) {
    const next = text.indexOf('\n', end)
    if (next === -1) return text.length + left
    end = next + 1
  }
  return end
}

function afterBlanks(text: string, at: number): number {
  return at + (matched(BLANKS, text, at)?.[0].length ?? 0)
}

const BLANKS = /[^\S\n]*/y

/** The first word of a value. */
function wordAt(text: string, at: number): string {
  return matched(WORD, text, afterBlanks(text, at))?.[1] ?? ''
}

const WORD = /["']?([\w.-]{1,63})/y

function matched(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function isCount(name: string, value: string): boolean {
  return isCountName(name) && /^["']?\d{1,9}["']?$/.test(value)
}

function quotedAs(value: string): string {
  const quote = /^\\{0,4}["']/.exec(value)?.[0] ?? ''
  return `${quote}${REDACTED}${quote}`
}
