import { expect, test } from '@jest/globals'
import { time } from '../../../../functions/src/catalog/builtin/builtins.ts'

const at = (text: string) => ({ now: () => Date.parse(text) })

test.each([
  [{ timeZone: undefined }, '2026-02-03T23:04:05.678Z', '2026-02-03T23:04:05', '+00:00', 'Tuesday'],
  [{ timeZone: 'Europe/Zurich' }, '2026-07-03T23:04:05Z', '2026-07-04T01:04:05', '+02:00', 'Saturday'],
  [{ timeZone: 'Asia/Kolkata' }, '2026-01-01T18:30:00Z', '2026-01-02T00:00:00', '+05:30', 'Friday'],
  [{ timeZone: 'America/St_Johns' }, '2026-01-01T00:00:00Z', '2025-12-31T20:30:00', '-03:30', 'Wednesday'],
])('with %j at %s it is %s, %s, %s', (args, now, local, offset, weekday) => {
  const told = time(args.timeZone === undefined ? {} : { timeZone: args.timeZone }, at(now))
  expect(told).toEqual({
    utc: new Date(now).toISOString(),
    timeZone: args.timeZone ?? 'UTC',
    local,
    offset,
    weekday,
  })
})

test('a time zone that is none is a fault of the arguments, and is not repeated', () => {
  expect(() => time({ timeZone: 'SECRET/Nowhere' }, at('2026-01-01T00:00:00Z'))).toThrow(
    expect.objectContaining({ code: 'ARGUMENTS_INVALID', message: expect.not.stringContaining('SECRET') }),
  )
})
