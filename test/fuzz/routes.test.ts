import { expect, jest } from '@jest/globals'
import { fuzz } from '../support/fuzz.ts'
import { withPython } from '../support/runner-environment.ts'

jest.setTimeout(300_000)

withPython('no request to any route makes the service answer what it must not', async () => {
  const { code, said, numbers } = await fuzz('routes', 1, 3)
  expect([said, code]).toEqual([expect.stringContaining(' 0 findings\n'), 0])
  // Beyond refusals: requests that are taken, and somebody who lists meanwhile.
  expect(numbers.get('answers of 200')).toBeGreaterThan(20)
  expect(numbers.get('lists of the honest reader')).toBeGreaterThan(20)
})
