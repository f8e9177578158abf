import { expect, test } from '@jest/globals'
import { connectionsMax } from '../../../../functions/src/hosts/local/listen.ts'

const limits = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 1048576              files\n`

test.each([
  ['1024', 384],
  ['256', 64],
  ['1048576', 10_000],
  ['unlimited', 10_000],
])('a limit of %s descriptors leaves %d for connections, each with a file', (soft, connections) => {
  expect(connectionsMax(limits(soft))).toBe(connections)
})

test('where the system tells nothing there are 10,000', () => {
  expect(connectionsMax('')).toBe(10_000)
})
