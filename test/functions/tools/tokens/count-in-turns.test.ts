import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { countInTurns } from '../../../../functions/src/tools/tokens/count-in-turns.ts'
import { tokenCounter } from '../../../../functions/src/tools/tokens/token-counter.ts'

const count = await tokenCounter()
const DOCS = ['docs/api.md', 'CHANGELOG.md', 'package-lock.json'].map((path) =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8').slice(0, 200_000),
)

/** Words, marks and ends of lines at which a slice may end. */
const PIECES = [
  "it's",
  ' don’t',
  ' word',
  'ABC',
  '，',
  '。',
  '的时候',
  ', ',
  '. ',
  ';',
  '\n',
  '\r\n',
  '\n\n',
  ' ',
  '/',
  '12',
  'é',
]

test.each(DOCS)('a long text has as many tokens in slices as whole', async (text) => {
  expect(await countInTurns(text, count)).toBe(count(text))
})

test('the slices of any text have as many tokens as the whole', async () => {
  const piece = fc.constantFrom(...PIECES)
  const text = fc
    .array(piece, { minLength: 2, maxLength: 40 })
    .map((pieces) => 'x'.repeat(8_185) + pieces.join('') + ' end, of it'.repeat(800))
  await fc.assert(
    fc.asyncProperty(text, async (one) => {
      const repeated = one.replace('x'.repeat(8_185), 'word '.repeat(1_637))
      expect(await countInTurns(repeated, count)).toBe(count(repeated))
    }),
    { numRuns: 100 },
  )
})
