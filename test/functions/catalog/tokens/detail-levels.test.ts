import { expect, test } from '@jest/globals'
import { firstSentence } from '@toolrack/contract'
import { atLevel } from '../../../../functions/src/catalog/tokens/detail-levels.ts'

test.each([
  ['One sentence.', 'One sentence.'],
  ['No mark', 'No mark'],
  ['', ''],
  ['   ', '   '],
  ['First one. Second one.', 'First one.'],
  ['  Is it? Yes.', 'Is it?'],
  ['Use e.g. this one. Not that.', 'Use e.g. this one.'],
  ['Version 1.2.3 of it. More.', 'Version 1.2.3 of it.'],
  ['The first line\nthe second line', 'The first line'],
  ['\n\nThe first line  \r\nthe second', 'The first line'],
  ['最初の文。次の文。', '最初の文。'],
  ['Wow!!! Really.', 'Wow!!!'],
  ['It costs 5. 6 is more.', 'It costs 5.'],
])('the first sentence of %j is %j', (text, sentence) => {
  expect(firstSentence(text)).toBe(sentence)
})

test('short keeps the parameters whole, and deferred keeps only the name', () => {
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const described = { name: 't', description: 'One. Two.', parameters }
  const long = { type: 'function', function: described, tags: ['x'] } as const
  expect(atLevel(long, 'full')).toBe(long)
  expect(atLevel(long, 'short')).toEqual({ ...long, function: { ...described, description: 'One.' } })
  expect(atLevel(long, 'deferred')).toEqual({
    type: 'function',
    function: { name: 't', description: '', parameters: { type: 'object', properties: {}, required: [] } },
  })
})
