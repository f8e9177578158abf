import { expect, test } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import { isToolrackError } from '@toolrack/contract'
import { BodiesInFlight, bodyBudget, SMALL_BODY_BYTES } from '../../../functions/src/http/bodies-in-flight.ts'
import { STRETCH_MS, type Pieces } from '../../../functions/src/loop-turn.ts'
import { onePiece } from '../../support/pieces.ts'

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
  const bodies = new BodiesInFlight(2 * MB, false)
  const [first, second, third] = [{}, {}, {}]
  bodies.take(first, 'ann', MB)
  bodies.take(second, 'ann', MB)
  expect(refusal(() => bodies.take(third, 'ann', 17 * KB))).toBe('SERVICE_BUSY')
  expect(bodies.state.bytes).toBe(2 * MB)
  bodies.giveBack(first)
  expect(refusal(() => bodies.take(third, 'ann', MB))).toBeUndefined()
  expect(bodies.state.bytes).toBe(2 * MB)
})

test('a share is given back once, and one that was refused has none', () => {
  const bodies = new BodiesInFlight(2 * MB, false)
  const [taken, refused] = [{}, {}]
  bodies.take(taken, 'ann', 2 * MB)
  expect(refusal(() => bodies.take(refused, 'ann', MB))).toBe('SERVICE_BUSY')
  bodies.giveBack(refused)
  expect(bodies.state.bytes).toBe(2 * MB)
  bodies.giveBack(taken)
  bodies.giveBack(taken)
  expect(bodies.state.bytes).toBe(0)
})

test('small bodies are taken when nothing else is, and are not counted', () => {
  const bodies = new BodiesInFlight(2 * MB, false)
  bodies.take({}, 'ann', 2 * MB)
  expect(refusal(() => bodies.take({}, 'ann', SMALL_BODY_BYTES))).toBeUndefined()
  expect(bodies.state.bytes).toBe(2 * MB)
  expect(refusal(() => bodies.take({}, 'ann', SMALL_BODY_BYTES + 1))).toBe('SERVICE_BUSY')
})

test('a share is lowered to what was read, and never raised', () => {
  const bodies = new BodiesInFlight(2 * MB, false)
  const request = {}
  bodies.take(request, 'ann', MB)
  bodies.lower(request, 100 * KB)
  expect(bodies.state.bytes).toBe(100 * KB)
  bodies.lower(request, MB)
  expect(bodies.state.bytes).toBe(100 * KB)
  bodies.lower(request, SMALL_BODY_BYTES)
  expect(bodies.state.bytes).toBe(0)
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
      const parse = onePiece(() => {
        seen.push(`parse ${name}`)
        return name
      })
      const value = await bodies.parseInTurn('ann', undefined, parse)
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
  const tooDeep = onePiece(() => {
    throw new RangeError('too deep')
  })
  const failed = bodies.parseInTurn('ann', undefined, tooDeep)
  const next = bodies.parseInTurn(
    'ann',
    undefined,
    onePiece(() => 'next'),
  )
  await expect(failed).rejects.toThrow('too deep')
  expect(await next).toBe('next')
})

test('a large body that comes alone does not wait', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const first = bodies.parseInTurn(
    'ann',
    undefined,
    onePiece(() => order.push('first')),
  )
  expect(order).toEqual(['first'])
  expect(await first).toBe(1)
})

test('one user has at most a quarter of the bytes, and others have the rest', () => {
  const bodies = new BodiesInFlight(8 * MB)
  const held = Array.from({ length: 2 }, () => ({}))
  for (const each of held) bodies.take(each, 'ann', MB)
  expect(refusal(() => bodies.take({}, 'ann', 17 * KB))).toBe('SERVICE_BUSY')
  for (const user of ['bob', 'bob', 'cid', 'cid', 'dan', 'dan'])
    expect(refusal(() => bodies.take({}, user, MB))).toBeUndefined()
  expect(refusal(() => bodies.take({}, 'eva', 17 * KB))).toBe('SERVICE_BUSY')
  bodies.lower(held[0] ?? {}, 500 * KB)
  bodies.giveBack(held[1] ?? {})
  expect(refusal(() => bodies.take({}, 'ann', MB))).toBeUndefined()
  expect(refusal(() => bodies.take({}, 'ann', 525 * KB))).toBe('SERVICE_BUSY')
})

test('the part of a user in the smallest budget holds the largest body', () => {
  const bodies = new BodiesInFlight(bodyBudget(0))
  for (const user of ['ann', 'bob']) expect(refusal(() => bodies.take({}, user, MB))).toBeUndefined()
  expect(refusal(() => bodies.take({}, 'ann', 17 * KB))).toBe('SERVICE_BUSY')
})

test('large bodies are parsed by user in turn, however many of one wait', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const parse = (user: string, name: string): Promise<unknown> =>
    bodies.parseInTurn(
      user,
      undefined,
      onePiece(() => order.push(name)),
    )
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => parse(name[0] ?? '', name))
  expect(bodies.state).toMatchObject({ places: 1, running: 1, waiting: 4, usersWaiting: 2 })
  await Promise.all(all)
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
})

/** Milliseconds of processor time that this thread has used. */
function usedMs(): number {
  return process.threadCpuUsage().user / 1_000
}

/** Blocks everything until so many milliseconds of it are used. */
function block(ms: number): void {
  const end = usedMs() + ms
  while (usedMs() < end);
}

test('who has blocked others with a parse is put off, and others are not', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const parse = (user: string, name: string, ms = 0): Promise<unknown> =>
    bodies.parseInTurn(
      user,
      undefined,
      onePiece(() => {
        order.push(name)
        block(ms)
      }),
    )
  const all = [parse('a', 'a1', 60), parse('a', 'a2'), parse('b', 'b1')]
  for (const name of ['b2', 'b3', 'b4']) {
    await all.at(-1)
    all.push(parse('b', name))
  }
  await Promise.all(all)
  expect(order).toEqual(['a1', 'b1', 'b2', 'b3', 'b4', 'a2'])
})

test('a parse that gives others turns is one parse, and is not put off for its length', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const state = { turns: 0, isOver: false }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) state.turns += 1
  }
  const turns = others()
  function* pieces(): Pieces<void> {
    for (let step = 0; step < 20; step += 1) {
      const before = state.turns
      block(STRETCH_MS + 1)
      yield
      expect(state.turns).toBeGreaterThan(before)
    }
    order.push('a1')
  }
  const inPieces = bodies.parseInTurn('a', undefined, pieces())
  const other = onePiece(() => order.push('b1'))
  await Promise.all([inPieces, bodies.parseInTurn('b', undefined, other)])
  state.isOver = true
  await turns
  expect(order).toEqual(['a1', 'b1'])
})

test('a body whose sender has gone before its turn is not parsed', async () => {
  const bodies = new BodiesInFlight()
  const gone = new AbortController()
  const order: string[] = []
  const parse = (name: string, signal?: AbortSignal): Promise<unknown> =>
    bodies.parseInTurn(
      'a',
      signal,
      onePiece(() => order.push(name)),
    )
  const first = parse('a1')
  const second = parse('a2', gone.signal)
  gone.abort()
  await expect(second).rejects.toMatchObject({ code: 'CANCELLED' })
  await Promise.all([first, parse('a3')])
  expect(order).toEqual(['a1', 'a3'])
})

test('refused bodies of one user are thrown away one after another, and none waits for the end of a slow one', async () => {
  const bodies = new BodiesInFlight()
  const order: string[] = []
  const slow = Promise.withResolvers<void>()
  const discard = (user: string, name: string, until?: Promise<void>): Promise<void> =>
    bodies.discardInTurn(user, undefined, () => {
      order.push(name)
      return until ?? Promise.resolve()
    })
  const first = discard('a', 'a1', slow.promise)
  const others = [discard('a', 'a2'), discard('a', 'a3'), discard('b', 'b1'), discard('c', 'c1')]
  await Promise.all(others)
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
  slow.resolve()
  await first
})
