import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { bfclDefinitions } from '../../../support/bfcl-definitions.ts'

const count = await tokenCounter()
/** The package's own encoder, which takes the names of special tokens as text only with these options. */
const encoded = (text: string): number =>
  encode(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() }).length

/** Pieces at whose borders the encoder is known to be particular. */
const PIECES = Array.from('aZé日ßſ\u0301\u00a0\u2028🙂"{}[],:.\'/\\ \n\r\t0123').concat([
  "don't",
  "'RE",
  '<|endoftext|>',
  '<|im_start|>',
  '👩‍👩‍👧',
  '  ',
  'oooooooo',
  '....',
  '𝒳',
  '한국어',
  'العربية',
])

describe('the count of tokens equals that of the encoder', () => {
  test('for random texts', () => {
    const texts = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary' })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(texts, (pieces) => count(pieces.join('')) === encoded(pieces.join(''))),
      {
        numRuns: 2_000,
      },
    )
  })

  test('for real definitions', () => {
    for (const definition of bfclDefinitions('definitions')) {
      const text = JSON.stringify(definition)
      expect([text, count(text)]).toEqual([text, encoded(text)])
    }
  })

  test.each(['a', 'aB', '日', ' ', '=', '\u0301', '\u{1f642}'])('for a long run of %j', (piece) => {
    const text = piece.repeat(2_000)
    expect(count(text)).toBe(encoded(text))
  })
})

test('a word of 100,000 equal letters is counted, although each pair of letters is compared with all others', () => {
  expect(count('a'.repeat(100_000))).toBe(12_500)
})

test('all callers share one vocabulary', async () => {
  expect(await tokenCounter()).toBe(count)
})
