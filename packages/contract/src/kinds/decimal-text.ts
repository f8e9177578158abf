import { spelled, type Canonical } from './canonical.ts'
import { withoutEdges } from './text-edit.ts'

/** The most digits of a canonical decimal. Without the limit, the text `1e999999999` would have a billion digits. */
export const DECIMAL_DIGITS_MAX = 1_000
/** The most characters of a number that is read. The limit bounds the work. Longer texts are refused. */
const LENGTH_MAX = 4_096

/** Matches the white space that Python removes from both ends of a number. */
// oxlint-disable-next-line no-control-regex -- Python takes some control characters for white space.
const EDGE = /[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

/** Matches a number. A character can belong to only one part of the pattern, so the time is linear in the text. */
const NUMBER = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?$/i

/**
 * Spells a decimal without exponent, plus sign and unnecessary zeros. Accepts every spelling that Python accepts, also with white
 * space at the ends, underscores, an exponent, or digits of other scripts. Infinity and NaN have no canonical spelling.
 */
export function canonicalDecimal(text: string): Canonical {
  if (text.length > LENGTH_MAX) return 'unclear'
  const plain = withoutEdges(text, EDGE)
    .replaceAll('_', '')
    .replaceAll(/\p{Nd}/gu, asciiDigit)
  const [, sign = '', digits, exponent = '0'] = NUMBER.exec(plain) ?? []
  if (digits === undefined) return /^[+-]?(?:inf|s?nan)/i.test(plain) ? 'unclear' : 'none'
  const [whole = '', fraction = ''] = digits.split('.')
  const magnitude = shifted(whole, fraction, Number(exponent))
  if (magnitude === undefined) return 'unclear'
  return spelled(sign === '-' && magnitude !== '0' ? `-${magnitude}` : magnitude)
}

/** Moves the decimal point of a number by `exponent` digits. Undefined if the result has too many digits. */
function shifted(whole: string, fraction: string, exponent: number): string | undefined {
  const digits = whole + fraction
  const first = digits.search(/[1-9]/)
  if (first === -1) return '0'
  const point = whole.length + exponent
  if (Math.abs(point) > DECIMAL_DIGITS_MAX || digits.length - first > DECIMAL_DIGITS_MAX) return undefined
  const padded = point > 0 ? digits.padEnd(point, '0') : '0'.repeat(1 - point) + digits
  const at = Math.max(point, 1)
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const rest = withoutZerosAtEnd(padded.slice(at))
  return rest === '' ? integer : `${integer}.${rest}`
}

/**
 * Removes zeros at the end. A pattern would search for the end of the text from each run of zeros, which takes quadratic time.
 */
function withoutZerosAtEnd(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}

/** For digits of other scripts, the ASCII digit, as far as it was needed. Unicode has fewer than 1,000 digits. */
const ASCII = new Map<string, string>()

function asciiDigit(digit: string): string {
  if (digit <= '9') return digit
  const known = ASCII.get(digit) ?? placeInRow(digit)
  ASCII.set(digit, known)
  return known
}

/**
 * The value of a digit of another script. In Unicode the digits of a script follow each other from zero to nine, and the digits
 * of several scripts may follow each other.
 */
function placeInRow(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let start = code
  while (/\p{Nd}/u.test(String.fromCodePoint(start - 1))) start -= 1
  return String((code - start) % 10)
}
