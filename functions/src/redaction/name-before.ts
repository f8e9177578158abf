/**
 * The most UTF-16 code units of a name that are read. Of a longer name only the end is read, so the time is linear in the text.
 */
const NAME_LENGTH_MAX = 64

/**
 * The same limit for a name as it is written in the text. If a letter is percent-encoded several times, it takes up to nine
 * units.
 */
const WRITTEN_LENGTH_MAX = 256

/** The most backslashes before a quote. They escape the quote in JSON that is inside of JSON. */
const BACKSLASHES_MAX = 4

/** The most blanks between a name and the sign after it, such as `=`. Blanks there are rare. */
const BLANKS_MAX = 3

/** A name in a text, and the position where it begins. */
type FoundName = { readonly name: string; readonly start: number }

/**
 * The name before a sign such as `=`, `:` or `>` at `end`. It can be the name of a query parameter, of a header, of a setting, or
 * of a value that a program prints. Blanks and a quote can be between the name and the sign. The quote and the letters of the
 * name can be escaped or percent-encoded. Text before `from` is not read.
 */
export function nameBefore(text: string, from: number, end: number): FoundName | undefined {
  let at = end
  for (let blanks = 0; blanks < BLANKS_MAX; blanks += 1) at -= blankBefore(text, from, at)
  const last = quoteBefore(text, from, at)
  const least = Math.max(from, last - WRITTEN_LENGTH_MAX)
  let start = last
  let isEncoded = false
  while (start > least) {
    const letter = letterBefore(text, start)
    if (letter > 0) start -= letter
    else if (isEncodedLetter(text, start - 1, last)) {
      start -= 1
      isEncoded = true
    } else {
      // These digits belong to an encoded separator (`%` and two digits), so they are not letters of the name.
      if (text[start - 1] === '%' && last - start >= 2) start += 2
      break
    }
  }
  if (start >= last) return undefined
  const written = text.slice(start, last)
  return { name: (isEncoded ? decoded(written) : written).slice(-NAME_LENGTH_MAX), start }
}

/** The position where the quote that ends at `end` begins, with its backslashes. If there is no quote, `end`. */
function quoteBefore(text: string, from: number, end: number): number {
  const isQuote = end > from && /["']/.test(text.charAt(end - 1))
  if (!isQuote) {
    const [encoded = ''] = /%(?:25){0,3}2[27]$/.exec(text.slice(Math.max(from, end - 9), end)) ?? []
    return end - encoded.length
  }
  let start = end - 1
  while (start > from && start > end - 1 - BACKSLASHES_MAX && text[start - 1] === '\\') start -= 1
  return start
}

/** The number of UTF-16 code units of the blank before `at`, which can be encoded as in a query. 0 if there is no blank. */
function blankBefore(text: string, from: number, at: number): number {
  if (at <= from) return 0
  if (isBlank(text.charCodeAt(at - 1)) || text[at - 1] === '+') return 1
  return at - 3 >= from && text.startsWith('%20', at - 3) ? 3 : 0
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0d || unit === 0xa0
}

/** The number of UTF-16 code units of the letter, digit, `_`, `.` or `-` before `end`. 0 for any other character. */
function letterBefore(text: string, end: number): number {
  const unit = text.charCodeAt(end - 1)
  if (unit < 0x80) return isAsciiLetter(unit) ? 1 : 0
  if (unit >= 0xdc00 && unit <= 0xdfff) return isLetter(text.slice(Math.max(0, end - 2), end)) ? 2 : 0
  let known = LETTERS[unit] ?? UNKNOWN
  if (known === UNKNOWN) LETTERS[unit] = known = isLetter(String.fromCharCode(unit)) ? LETTER : OTHER
  return known === LETTER ? 1 : 0
}

function isLetter(character: string): boolean {
  return /^[\p{L}\p{N}]$/u.test(character)
}

/**
 * For each UTF-16 code unit, whether it is a letter, as far as it was needed. The pattern would take ten times as long as this
 * table.
 */
const LETTERS = new Uint8Array(0x1_0000)
const [UNKNOWN, LETTER, OTHER] = [0, 1, 2]

function isAsciiLetter(unit: number): boolean {
  const lower = unit | 0x20
  const isDigit = unit >= 0x30 && unit <= 0x39
  return (lower >= 0x61 && lower <= 0x7a) || isDigit || unit === 0x5f || unit === 0x2d || unit === 0x2e
}

/**
 * True for the `%` or `\` with which an encoded letter begins. An encoded sign or separator is not a letter, and ends the name.
 */
function isEncodedLetter(text: string, at: number, end: number): boolean {
  if (text[at] !== '%' && text[at] !== '\\') return false
  const code = ENCODED.exec(text.slice(at, Math.min(end, at + ENCODED_LENGTH_MAX)))
  if (!code) return false
  const [, percent, short, long] = code
  const unit = Number.parseInt(percent ?? short ?? long ?? '', 16)
  // `%25` is an encoded `%`, which begins a further encoding.
  return unit >= 0x80 || (percent !== undefined && unit === 0x25) || isAsciiLetter(unit)
}

const ENCODED = /^(?:%(?:25){0,3}([0-9a-f]{2})|\\x([0-9a-f]{2})|\\u([0-9a-f]{4}))/i
/** The most UTF-16 code units of one encoded letter: `%252525` and two digits. */
const ENCODED_LENGTH_MAX = 9

/** Decodes the letters of a name. Parts that cannot be decoded stay unchanged. */
function decoded(written: string): string {
  const unescaped = written.replaceAll(
    /\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi,
    (_all, long?: string, short = '') => String.fromCharCode(Number.parseInt(long ?? (short as string), 16)),
  )
  const plain = unescaped.replaceAll(/%(?:25)+/g, '%')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain.replaceAll(/%([0-9a-f]{2})/gi, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  }
}
