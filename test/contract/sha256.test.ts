import { expect, test } from '@jest/globals'
import { sha256Hex } from '@toolrack/contract'
import fc from 'fast-check'
import { createHash } from 'node:crypto'

const expected = (text: string): string => createHash('sha256').update(text).digest('hex')

test('the SHA-256 of a text of any length up to four blocks is what the platform says', () => {
  for (let length = 0; length <= 256; length += 1) {
    const text = 'abcdefgh'.repeat(32).slice(0, length)
    expect([length, sha256Hex(text)]).toEqual([length, expected(text)])
  }
})

test('the SHA-256 of any text is that of its UTF-8 bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) =>
      expect(sha256Hex(text)).toBe(expected(text)),
    ),
  )
})

test('a megabyte is hashed as the platform hashes it', () => {
  const text = 'ä€😀x'.repeat(100_000)
  expect(sha256Hex(text)).toBe(expected(text))
})
