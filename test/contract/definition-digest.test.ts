import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import { vectors } from '../support/vectors.ts'

const cases = vectors<ToolDefinition, string>('digests')
const first = cases[0]?.expected

test.each(cases)('digest: $title', ({ input, expected }) => {
  expect(definitionDigest(input)).toBe(expected)
})

test.each(cases.filter(({ title }) => title.startsWith('same')))(
  'it has the first digest: $title',
  ({ input }) => {
    expect(definitionDigest(input)).toBe(first)
  },
)

test('every other difference makes another digest', () => {
  const others = cases
    .filter(({ title }) => title.startsWith('other'))
    .map(({ input }) => definitionDigest(input))
  expect(new Set([first, ...others]).size).toBe(others.length + 1)
})
