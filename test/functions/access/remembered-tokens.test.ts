import { expect, test } from '@jest/globals'
import type { Identify } from '../../../functions/src/access/token-authentication.ts'
import {
  REMEMBERED_MAX,
  REMEMBERED_MS,
  RememberedTokens,
} from '../../../functions/src/access/token-authentication.ts'

/** Knows every token but `bad` as the user of that name, and counts how often it was asked. */
class Door {
  readonly asked: string[] = []
  endsAt = Infinity

  readonly identify: Identify = (token) => {
    this.asked.push(token)
    if (token === 'bad') return Promise.reject(new Error('bad'))
    return Promise.resolve({ identity: { kind: 'user', uid: token, isAdmin: false }, endsAt: this.endsAt })
  }
}

function setup() {
  const clock = { now: 1_000 }
  return { clock, door: new Door(), tokens: new RememberedTokens(() => clock.now) }
}

test('a verified token is known for five minutes, then it is looked at again', async () => {
  const { clock, door, tokens } = setup()
  for (let asked = 0; asked < 3; asked += 1)
    expect(await tokens.identify('workflows', 'ann', door.identify)).toMatchObject({ uid: 'ann' })
  clock.now += REMEMBERED_MS - 1
  await tokens.identify('workflows', 'ann', door.identify)
  expect(door.asked).toEqual(['ann'])
  clock.now += 1
  await tokens.identify('workflows', 'ann', door.identify)
  expect(door.asked).toEqual(['ann', 'ann'])
  expect(REMEMBERED_MS).toBe(300_000)
})

test('being asked for does not make it known for longer', async () => {
  const { clock, door, tokens } = setup()
  for (let minutes = 0; minutes <= 5; minutes += 1) {
    await tokens.identify('workflows', 'ann', door.identify)
    clock.now += 60_000
  }
  expect(door.asked).toHaveLength(2)
})

test('a token that ends earlier is known until then only', async () => {
  const { clock, door, tokens } = setup()
  door.endsAt = clock.now + 10
  await tokens.identify('workflows', 'ann', door.identify)
  clock.now += 9
  await tokens.identify('workflows', 'ann', door.identify)
  expect(door.asked).toHaveLength(1)
  clock.now += 1
  await tokens.identify('workflows', 'ann', door.identify)
  expect(door.asked).toHaveLength(2)
})

test('what was refused is not remembered', async () => {
  const { door, tokens } = setup()
  for (let asked = 0; asked < 2; asked += 1)
    await expect(tokens.identify('workflows', 'bad', door.identify)).rejects.toThrow('bad')
  expect([door.asked.length, tokens.size]).toEqual([2, 0])
})

test('a token that one door knows is shown to another door anew', async () => {
  const { door, tokens } = setup()
  await tokens.identify('workflows', 'ann', door.identify)
  await tokens.identify('jobs', 'ann', door.identify)
  expect(door.asked).toEqual(['ann', 'ann'])
})

test('no more than 10,000 are remembered, the latest of them', async () => {
  const { door, tokens } = setup()
  for (let index = 0; index <= REMEMBERED_MAX; index += 1)
    await tokens.identify('workflows', `token-${index}`, door.identify)
  expect([REMEMBERED_MAX, tokens.size]).toEqual([10_000, 10_000])
  const asked = door.asked.length
  await tokens.identify('workflows', `token-${REMEMBERED_MAX}`, door.identify)
  expect(door.asked).toHaveLength(asked)
  await tokens.identify('workflows', 'token-0', door.identify)
  expect(door.asked).toHaveLength(asked + 1)
})
