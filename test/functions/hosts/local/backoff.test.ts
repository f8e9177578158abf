import { expect, test } from '@jest/globals'
import { backoff } from '../../../../functions/src/hosts/local/runner-process.ts'

test('the wait doubles up to its limit, and begins anew after good health', () => {
  const waitMs = backoff({ againMs: 100, againMsMax: 500, healthyMs: 60_000 })
  const healthMs = [0, 0, 60_000, 0, 0, 60_001, 0]
  expect(healthMs.map(waitMs)).toEqual([100, 200, 400, 500, 500, 100, 200])
})
