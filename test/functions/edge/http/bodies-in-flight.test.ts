import { expect, test } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { isToolrackError } from '@toolrack/contract'
import {
  BodiesInFlight,
  bodyBudget,
  SMALL_BODY_BYTES,
} from '../../../../functions/src/edge/http/bodies-in-flight.ts'

const KB = 1024
const MB = 1024 * KB

/** The code with which something is refused; undefined when it is not. */
function refusal(act: () => void): string | undefined {
  try {
    act()
  } catch (error) {
    if (isToolrackError(error)) return error.code
    throw error
  }
  return undefined
}

test('bodies are taken up to the budget, and the next is refused until a share was given back', () => {
  const bodies = new BodiesInFlight(2 * MB)
  const [first, second, third] = [{}, {}, {}]
  bodies.take(first, MB)
  bodies.take(second, MB)
  expect(refusal(() => bodies.take(third, 17 * KB))).toBe('SERVICE_BUSY')
  expect(bodies.bytes).toBe(2 * MB)
  bodies.giveBack(first)
  expect(refusal(() => bodies.take(third, MB))).toBeUndefined()
  expect(bodies.bytes).toBe(2 * MB)
})

test('a share is given back once, and one that was refused has none', () => {
  const bodies = new BodiesInFlight(2 * MB)
  const [taken, refused] = [{}, {}]
  bodies.take(taken, 2 * MB)
  expect(refusal(() => bodies.take(refused, MB))).toBe('SERVICE_BUSY')
  bodies.giveBack(refused)
  expect(bodies.bytes).toBe(2 * MB)
  bodies.giveBack(taken)
  bodies.giveBack(taken)
  expect(bodies.bytes).toBe(0)
})

test('small bodies are taken when nothing else is, and are not counted', () => {
  const bodies = new BodiesInFlight(2 * MB)
  bodies.take({}, 2 * MB)
  expect(refusal(() => bodies.take({}, SMALL_BODY_BYTES))).toBeUndefined()
  expect(bodies.bytes).toBe(2 * MB)
  expect(refusal(() => bodies.take({}, SMALL_BODY_BYTES + 1))).toBe('SERVICE_BUSY')
})

test('a share is lowered to what was read, and never raised', () => {
  const bodies = new BodiesInFlight(2 * MB)
  const request = {}
  bodies.take(request, MB)
  bodies.lower(request, 100 * KB)
  expect(bodies.bytes).toBe(100 * KB)
  bodies.lower(request, MB)
  expect(bodies.bytes).toBe(100 * KB)
  bodies.lower(request, SMALL_BODY_BYTES)
  expect(bodies.bytes).toBe(0)
})

test('the budget is 1/64 of the heap, and holds the largest body twice in the smallest', () => {
  expect(bodyBudget(512 * MB)).toBe(8 * MB)
  expect(bodyBudget(16 * MB)).toBe(2 * MB)
})

test('large bodies are parsed one at a time, in order, and others have a turn between them', async () => {
  const bodies = new BodiesInFlight()
  const seen: string[] = []
  const state = { isOver: false }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) if (seen.at(-1) !== 'others') seen.push('others')
  }
  const turns = others()
  const parsed = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const value = await bodies.parseInTurn(MB, () => {
        seen.push(`parse ${name}`)
        return name
      })
      seen.push(`work ${name}`)
      return value
    }),
  )
  state.isOver = true
  await turns
  expect(parsed).toEqual(['a', 'b', 'c'])
  const large = ['a', 'b', 'c'].flatMap((name) => ['others', `parse ${name}`, `work ${name}`])
  expect(seen).toEqual(seen.at(-1) === 'others' ? [...large, 'others'] : large)
})

test('what a parse throws is thrown, and the next is parsed', async () => {
  const bodies = new BodiesInFlight()
  const failed = bodies.parseInTurn(MB, () => {
    throw new RangeError('too deep')
  })
  const next = bodies.parseInTurn(MB, () => 'next')
  await expect(failed).rejects.toThrow('too deep')
  expect(await next).toBe('next')
})

test('a small body does not wait for large ones, and neither does a large one that comes alone', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const first = bodies.parseInTurn(MB, () => order.push('first'))
  expect(order).toEqual([])
  await first
  expect(order).toEqual(['first'])
  const second = bodies.parseInTurn(MB, () => order.push('second'))
  await bodies.parseInTurn(SMALL_BODY_BYTES, () => order.push('small'))
  await second
  expect(order).toEqual(['first', 'small', 'second'])
})
