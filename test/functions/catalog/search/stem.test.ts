import { expect, test } from '@jest/globals'
import { stem } from '../../../../functions/src/catalog/search/stem.ts'
import { splitWords } from '../../../../functions/src/catalog/search/words.ts'

const SAME: readonly (readonly string[])[] = [
  ['calculate', 'calculates', 'calculated', 'calculating', 'calculation', 'calculator'],
  ['discover', 'discovers', 'discovered', 'discovering'],
  ['history', 'histories', 'historical', 'historic'],
  ['hop', 'hops', 'hopping', 'hopped'],
  ['agree', 'agreed', 'agrees'],
  ['relate', 'relational', 'related'],
  ['happy', 'happiness'],
]
test.each(SAME)('%s and its forms have one stem', (...words) => {
  expect(new Set(words.map(stem)).size).toBe(1)
})

test.each(['gas', 'is', 'yes', 'bus', '天气', 's3', 'feed', 'sing', 'x'])(
  '%s has a stem that is not empty',
  (word) => {
    expect(stem(word).length).toBeGreaterThan(0)
  },
)

test('words of other meanings keep different stems', () => {
  for (const [a, b] of [
    ['universe', 'uniform'],
    ['rate', 'ratio'],
    ['book', 'boot'],
  ] as const)
    expect(stem(a)).not.toBe(stem(b))
})

test('names are split at capitals, at signs and at neither digits nor accents', () => {
  expect(splitWords('getHTTPStatus_of-a.b:c')).toEqual(['get', 'http', 'status', 'of', 'a', 'b', 'c'])
  expect(splitWords('s3Upload ÄÖÜ')).toEqual(['s3', 'upload', 'aou'])
})
