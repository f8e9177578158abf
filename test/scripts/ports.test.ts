import { expect, test } from '@jest/globals'
import { freePorts } from '../../scripts/toolchain/ports.mjs'

test('callers that ask at the same time get different ports', async () => {
  const ports = (await Promise.all(Array.from({ length: 40 }, () => freePorts(10)))).flat()
  expect(new Set(ports).size).toBe(400)
})
