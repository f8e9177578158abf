import { expect, jest, test } from '@jest/globals'
import { fuzz } from '../support/fuzz.ts'

jest.setTimeout(300_000)

test('schemas and arguments are checked alike in every way, as much as was estimated, and never end the service', async () => {
  const { code, said, numbers } = await fuzz('schemas', 1, 2)
  expect([said, code]).toEqual([expect.stringContaining(' 0 findings\n'), 0])
  for (const what of ['schemas admitted', 'arguments that fit', 'arguments refused', 'checks in the service'])
    expect([what, (numbers.get(what) ?? 0) > 50]).toEqual([what, true])
  expect(numbers.get('costly schemas tried')).toBeGreaterThan(2)
})
