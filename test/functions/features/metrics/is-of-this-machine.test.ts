import { expect, test } from '@jest/globals'
import { isOfThisMachine } from '../../../../functions/src/features/metrics/is-of-this-machine.ts'

test.each([
  ['127.0.0.1', 'localhost:8787', true],
  ['127.8.0.1', '127.0.0.1:8787', true],
  ['::1', '[::1]:8787', true],
  ['::ffff:127.0.0.1', 'localhost', true],
  ['192.0.2.1', 'localhost:8787', false],
  ['::ffff:192.0.2.1', 'localhost', false],
  [undefined, 'localhost', false],
  ['127.0.0.1', undefined, false],
  ['127.0.0.1', 'localhost.attacker.example', false],
  ['127.0.0.1', '127.0.0.1.attacker.example', false],
])('a connection from %s to %s is of this machine: %s', (remoteAddress, host, expected) => {
  const headers = host === undefined ? {} : { host }
  expect(isOfThisMachine({ socket: { remoteAddress }, headers })).toBe(expected)
})
