import { spelled, type Canonical } from './canonical.ts'
import { dateTimeText, epochSeconds } from './date-text.ts'

/** The most UTF-16 code units of a text that is read. No real date-time is longer. */
const LENGTH_MAX = 128

const TEXT =
  /^(\d{4})-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+\-\u2212])(\d\d):?(\d\d))?$/

/** Matches a number of seconds or milliseconds since 1970. */
const COUNT = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)$/

/**
 * Matches other texts that some readers accept: a number of seconds with an exponent, and a text that begins like a date-time.
 */
const NEARLY = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)e[+-]?\d+$|\d{4}-\d\d-\d\d.)/i

/**
 * A number above MILLIS_ABOVE counts as milliseconds. A fraction of a number above EXACT_BELOW cannot be represented exactly by a
 * float.
 */
const MILLIS_ABOVE = 20_000_000_000
const EXACT_BELOW = 4_000_000_000

/**
 * Spells a date-time as in RFC 3339: in UTC, with `Z`, and with at most six digits of a fraction without zeros at its end. A text
 * without a time zone has another meaning, so it stays without a zone. Also accepts a number of seconds or milliseconds since
 * 1970.
 */
export function canonicalDateTime(text: string): Canonical {
  if (text.length > LENGTH_MAX) return /^[\d+.-]/.test(text) ? 'unclear' : 'none'
  const found = TEXT.exec(text)
  if (!found) return COUNT.test(text) ? ofCount(text) : NEARLY.test(text) ? 'unclear' : 'none'
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part: string | undefined) => Number(part ?? 0))
  const seconds = epochSeconds({ year, month, day, hour, minute, second })
  if (seconds === undefined) return 'none'
  const [fraction = '', utc, sign, zoneHours = '0', zoneMinutes = '0'] = found.slice(7)
  const micros = fraction.slice(0, 6)
  if (utc === undefined && sign === undefined) return written(seconds, micros, '')
  if (Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return 'none'
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60
  return written(sign === '+' ? seconds - offset : seconds + offset, micros, 'Z')
}

/** True for a canonical text without a zone. */
export function isWithoutZone(canonical: string): boolean {
  return !canonical.endsWith('Z')
}

function written(seconds: number, micros: string, zone: '' | 'Z'): Canonical {
  const text = dateTimeText(seconds)
  const fraction = micros.replace(/0+$/, '')
  if (text === undefined) return 'unclear'
  return spelled(`${text}${fraction && `.${fraction}`}${zone}`)
}

function ofCount(text: string): Canonical {
  const isNegative = text.startsWith('-')
  const [whole = '', digits = ''] = text.replace(/^[+-]/, '').split('.')
  const fraction = digits.replace(/0+$/, '')
  const count = Number(whole)
  const isMillis = count > MILLIS_ABOVE
  const places = isMillis ? 3 : 6
  if (count > MILLIS_ABOVE * 100_000) return 'unclear'
  if (fraction !== '' && (fraction.length > places || count > EXACT_BELOW * (isMillis ? 1_000 : 1)))
    return 'unclear'
  const micros = count * (isMillis ? 1_000 : 1_000_000) + Number(fraction.padEnd(places, '0'))
  const signed = isNegative ? -micros : micros
  if (!Number.isSafeInteger(signed)) return 'unclear'
  const seconds = Math.floor(signed / 1_000_000)
  return written(seconds, String(signed - seconds * 1_000_000).padStart(6, '0'), 'Z')
}
