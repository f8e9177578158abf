import { expect, test } from '@jest/globals'
import { nearMiss } from '../../../../functions/src/tools/schemas/argument-faults.ts'

const KNOWN = ['location', 'days', 'timeZone', 'max_results', 'a']

test.each([
  ['locaton', 'location'],
  ['LOCATION', 'location'],
  ['time_zone', 'timeZone'],
  ['maxResults', 'max_results'],
  ['day', 'days'],
  ['A', 'a'],
])('%s was probably meant to be %s', (sent, meant) => {
  expect(nearMiss(sent, KNOWN)).toBe(meant)
})

test.each([['city'], ['x'], [''], ['locationlocation'], ['l'.repeat(100_000)]])(
  '%s is near to none',
  (sent) => {
    expect(nearMiss(sent, KNOWN)).toBeUndefined()
  },
)

test('the nearest is named, not the first that is near', () => {
  expect(nearMiss('colour', ['colouring', 'color', 'colors'])).toBe('color')
})
