import { expect, test } from '@jest/globals'
import { nearMiss } from '../../../../functions/src/catalog/schemas/near-miss.ts'

const KNOWN = ['location', 'days', 'timeZone', 'max_results', 'a']

test.each([
  ['locaton', 'location'],
  ['LOCATION', 'location'],
  ['time_zone', 'timeZone'],
  ['maxResults', 'max_results'],
  ['day', 'days'],
  ['dasy', 'days'],
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

test.each([
  ['weather:gett', 'weather:get'],
  ['weather__gett', 'weather:get'],
  ['wether:get', 'weather:get'],
  ['weather:nope', undefined],
  ['weather__nope', undefined],
])('the tools of one family are compared without it: %s is near to %s', (sent, meant) => {
  expect(nearMiss(sent, ['weather:late', 'weather:get'])).toBe(meant)
})

test('with 10,000 names, the one that was meant is found, wherever it is', () => {
  const known = Array.from({ length: 10_000 }, (_, index) => `family${index % 100}:do_${index}_thing`)
  expect(nearMiss('family99:do_9999_thingy', known)).toBe('family99:do_9999_thing')
})

test('with very many names that are all similar, the search ends before their end', () => {
  let asked = 0
  function* names(): Generator<string> {
    for (; asked < 1_000_000; asked += 1) yield `${'ab'.repeat(20)}${asked}`
  }
  nearMiss('ba'.repeat(20), names())
  expect(asked).toBeLessThan(50_000)
})
