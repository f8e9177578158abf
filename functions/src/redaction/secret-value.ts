import { REDACTED } from './redacted.ts'

/** Where the value of a secret ends. With `open`, it continues after the end of the text. */
export type ValueEnd = { readonly end: number; readonly open?: OpenValue }

/**
 * A value that continues after the end of the text. It ends with the same quotes with which it has begun, or it is within this
 * many brackets.
 */
export type OpenValue =
  | { readonly kind: 'quotes'; readonly quotes: string; readonly linesLeft: number }
  | { readonly kind: 'brackets'; readonly depth: number; readonly quote: string; readonly linesLeft: number }

/** The most lines of a value in quotes or brackets. If there are more, the quote or the bracket does not enclose a value. */
const VALUE_LINES_MAX = 50

const TRIPLE = /[bBrRuUfF]{0,2}("""|''')/y
const QUOTED = /[bBrRuUfF]{0,2}(["'])/y
const ESCAPED_QUOTE = /\\{1,4}(?:"[^"\n]*"?|'[^'\n]*'?)/y
const WORD = /[^\s&;,"'<>{}[\]]+/y

/**
 * Where the value that begins at `at` ends. It is a quoted text, perhaps with a prefix as in `b'…'`, a text in brackets, or the
 * text up to the next separator. `end` is `at` if there is no value.
 */
export function valueEnd(text: string, at: number): ValueEnd {
  const triple = matched(TRIPLE, text, at)
  if (triple) {
    const quotes = triple[1] ?? ''
    return quotesEnd(text, at + triple[0].length, quotes, Infinity)
  }
  const quoted = matched(QUOTED, text, at)
  if (quoted) return quotesEnd(text, at + quoted[0].length, quoted[1] ?? '', VALUE_LINES_MAX)
  if (/[{[]/.test(text.charAt(at)) && !text.startsWith(REDACTED, at))
    return bracketsEnd(text, at, { kind: 'brackets', depth: 0, quote: '', linesLeft: VALUE_LINES_MAX })
  const [value = ''] = matched(ESCAPED_QUOTE, text, at) ?? matched(WORD, text, at) ?? []
  return { end: at + value.length }
}

/** Where a value ends that continues from an earlier text. */
export function openValueEnd(text: string, at: number, open: OpenValue): ValueEnd {
  if (open.kind === 'quotes') return quotesEnd(text, at, open.quotes, open.linesLeft)
  return bracketsEnd(text, at, open)
}

function matched(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** The end of a quoted text. A backslash escapes a single quote, but not a triple quote. */
function quotesEnd(text: string, from: number, quotes: string, linesMax: number): ValueEnd {
  let linesLeft = linesMax
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]
    // oxlint-disable-next-line toolrack/linear-texts -- It is one quote, or three of them.
    if (text.startsWith(quotes, at)) return { end: at + quotes.length }
    if (character === '\\' && quotes.length === 1 && text[at + 1] !== '\n') at += 1
    if (character !== '\n') continue
    linesLeft -= 1
    if (linesLeft === 0) return { end: at }
  }
  return { end: text.length, open: { kind: 'quotes', quotes, linesLeft } }
}

/** Where a text in brackets ends. Brackets within quotes do not count. A quote that is not closed ends with its line. */
function bracketsEnd(text: string, from: number, open: OpenValue & { readonly kind: 'brackets' }): ValueEnd {
  let { depth, quote, linesLeft } = open
  for (let at = from; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '\n') {
      quote = ''
      linesLeft -= 1
      if (linesLeft === 0) return { end: at }
    } else if (quote !== '') {
      if (character === '\\') at += 1
      else if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') {
      depth -= 1
      if (depth === 0) return { end: at + 1 }
    }
  }
  return { end: text.length, open: { kind: 'brackets', depth, quote, linesLeft } }
}
