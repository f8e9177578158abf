import { expect, test } from '@jest/globals'
import {
  Backoffs,
  BACKOFFS_MAX,
  BACKOFFS_PER_USER_MAX,
} from '../../../../functions/src/features/failures/backoffs.ts'

const never = () => Promise.reject(new Error('It must not wait.'))

test('a user has so many waits, all users together have so many, and a wait that has ended makes room', async () => {
  const backoffs = new Backoffs()
  const { promise, resolve } = Promise.withResolvers<void>()
  const waits = Array.from({ length: BACKOFFS_MAX }, (_, index) =>
    backoffs.run(`user ${Math.floor(index / BACKOFFS_PER_USER_MAX)}`, () => promise),
  )
  expect(await backoffs.run('user 0', never)).toBe(false)
  expect(await backoffs.run('another user', never)).toBe(false)
  resolve()
  expect(await Promise.all(waits)).not.toContain(false)
  const failed = backoffs.run('user 0', () => Promise.reject(new Error('The wait has failed.')))
  await expect(failed).rejects.toThrow('The wait has failed.')
  const again = Array.from({ length: BACKOFFS_PER_USER_MAX }, () =>
    backoffs.run('user 0', () => Promise.resolve()),
  )
  expect(await Promise.all(again)).not.toContain(false)
  expect(await backoffs.run('another user', () => Promise.resolve())).toBe(true)
})
