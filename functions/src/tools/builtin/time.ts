import { ToolrackError } from '@toolrack/contract'
import type { Builtin } from './builtin.ts'

/** The present moment in UTC and on the clocks of one time zone. */
export const time: Builtin = ({ timeZone = 'UTC' }, { now }) => {
  const moment = new Date(now())
  const { year, month, day, hour, minute, second, weekday, timeZoneName } = partsOf(
    moment,
    typeof timeZone === 'string' ? timeZone : '',
  )
  return {
    utc: moment.toISOString(),
    timeZone,
    local: `${year}-${month}-${day}T${hour}:${minute}:${second}`,
    offset: timeZoneName === 'GMT' ? '+00:00' : timeZoneName?.slice('GMT'.length),
    weekday,
  }
}

function partsOf(moment: Date, timeZone: string): Record<string, string> {
  const parts = formatFor(timeZone).formatToParts(moment)
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]))
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', { ...FIELDS, timeZone })
  } catch (error) {
    const message =
      "'timeZone' is not the IANA name of a time zone; name one such as 'Europe/Zurich', or leave it out."
    throw new ToolrackError('ARGUMENTS_INVALID', message, { cause: error })
  }
}

const FIELDS: Intl.DateTimeFormatOptions = {
  weekday: 'long',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'longOffset',
}
