import { spelled, type Canonical } from './canonical.ts'

/** A date and a time of day, without a time zone. */
export type CalendarTime = {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const DAY_SECONDS = 86_400
/** A number above this one counts as milliseconds, otherwise as seconds since 1970. This is the rule of pydantic. */
const MILLIS_ABOVE = 20_000_000_000n

/**
 * Spells a date as `YYYY-MM-DD`. Also accepts a whole number of seconds or milliseconds since 1970 that is the start of a day.
 */
export function canonicalDate(text: string): Canonical {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year !== undefined) {
    const date = { year: Number(year), month: Number(month), day: Number(day) }
    return epochSeconds({ ...date, hour: 0, minute: 0, second: 0 }) === undefined ? 'none' : spelled(text)
  }
  if (!/^[+-]?\d{1,19}$/.test(text)) return 'none'
  const seconds = secondsIn(BigInt(text.replace('+', '')))
  if (seconds === undefined || seconds % DAY_SECONDS !== 0) return 'none'
  const date = dateTimeText(seconds)
  return date === undefined ? 'none' : spelled(date.slice(0, 10))
}

/** Converts a number of seconds or milliseconds to seconds. Undefined for milliseconds that are not whole seconds. */
function secondsIn(count: bigint): number | undefined {
  if (count <= MILLIS_ABOVE && count >= -MILLIS_ABOVE) return Number(count)
  return count % 1_000n === 0n ? Number(count / 1_000n) : undefined
}

/** Converts a time to seconds since 1970, in UTC. Undefined if the calendar has no such time. The year 0 is not allowed. */
export function epochSeconds(time: CalendarTime): number | undefined {
  const { year, month, day, hour, minute, second } = time
  if (year === 0 || hour > 23 || minute > 59 || second > 59) return undefined
  const date = new Date(0)
  // `Date.UTC` would take a year below 100 for a year of the last century.
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  return date.getTime() / 1_000 + hour * 3_600 + minute * 60 + second
}

/** Spells a time as `YYYY-MM-DDTHH:MM:SS` in UTC. Undefined outside of the years 1 to 9999. */
export function dateTimeText(seconds: number): string | undefined {
  const date = new Date(seconds * 1_000)
  const year = date.getUTCFullYear()
  if (!(year >= 1 && year <= 9_999)) return undefined
  return date.toISOString().slice(0, 19)
}
