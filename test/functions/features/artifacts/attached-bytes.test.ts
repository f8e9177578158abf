import { expect, test } from '@jest/globals'
import { AttachedBytes, attachedBudget } from '../../../../functions/src/features/artifacts/attached-bytes.ts'
import { ATTACHED_BYTES_MAX } from '../../../../functions/src/features/artifacts/keep-content.ts'

const GB = 1024 ** 3
const budget = attachedBudget(4 * GB)

/** Begins calls with files of `bytes`. Returns how many of them run, and ends them by `end`. */
async function begun(attached: AttachedBytes, user: string, calls: number, bytes = ATTACHED_BYTES_MAX) {
  const { promise, resolve: end } = Promise.withResolvers<void>()
  let running = 0
  const all = Array.from({ length: calls }, () =>
    attached
      .run(user, bytes, () => {
        running += 1
        return promise
      })
      .catch((error: unknown) => (error as { code: string }).code),
  )
  await Promise.resolve()
  return {
    running,
    end: () => {
      end()
      return Promise.all(all)
    },
  }
}

test('the files of all users together stay within the budget, and no user is left without room', async () => {
  const attached = new AttachedBytes(budget)
  const users = []
  for (const user of ['a', 'b', 'c', 'd', 'e', 'f']) users.push(await begun(attached, user, 16))
  const running = users.map((user) => user.running)
  expect(Math.min(...running)).toBeGreaterThan(0)
  expect(running.reduce((sum, one) => sum + one * ATTACHED_BYTES_MAX * 4, 0)).toBeLessThanOrEqual(budget)
  const ends = await Promise.all(users.map((user) => user.end()))
  expect(new Set(ends.flat())).toEqual(new Set([undefined, 'SERVICE_BUSY']))
  const [first] = running
  expect((await begun(attached, 'a', 16)).running).toBe(first)
})

test('a user who takes all the room leaves enough for others, and calls without files need none', async () => {
  const attached = new AttachedBytes(budget)
  const { running } = await begun(attached, 'a', 1_000)
  expect(running * ATTACHED_BYTES_MAX * 4).toBeLessThan(budget / 2)
  expect((await begun(attached, 'b', 1)).running).toBe(1)
  expect((await begun(attached, 'a', 3, 0)).running).toBe(3)
})

test('the smallest heap has room for the largest call of two users', async () => {
  const attached = new AttachedBytes(attachedBudget(GB / 8))
  for (const user of ['a', 'b']) expect((await begun(attached, user, 2)).running).toBe(1)
  const { running, end } = await begun(attached, 'c', 1)
  expect([running, await end()]).toEqual([0, ['SERVICE_BUSY']])
})

test('a call that fails gives its room back', async () => {
  const attached = new AttachedBytes(budget)
  for (let call = 0; call < 100; call += 1)
    await expect(attached.run('a', ATTACHED_BYTES_MAX, () => Promise.reject(new Error('x')))).rejects.toThrow(
      'x',
    )
})
