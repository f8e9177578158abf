import { expect, test } from '@jest/globals'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { atOnce, pauseMsAfter, STRETCH_MS, Turns, type Pieces } from '../../functions/src/loop-turn.ts'
import { turnsDuring } from '../support/turns-during.ts'

function usedMs(): number {
  return process.threadCpuUsage().user / 1_000
}

/** Uses so many milliseconds of the processor. */
function block(ms: number): void {
  const end = usedMs() + ms
  while (usedMs() < end);
}

function* work(name: string, pieces: number, done: string[], ms = 0): Pieces<string> {
  for (let at = 0; at < pieces; at += 1) {
    yield
    block(ms)
    done.push(`${name}${at}`)
  }
  return name
}

/** A turn after each piece. */
const afterEachPiece = (signal?: AbortSignal): Turns => new Turns(signal, -1)

test('work that is interrupted after each piece does each of them once', async () => {
  const done: string[] = []
  const { result, turns } = await turnsDuring(() => afterEachPiece().run(work('a', 50, done)))
  expect(result).toBe('a')
  expect(done).toEqual(Array.from({ length: 50 }, (_, at) => `a${at}`))
  expect(turns).toBeGreaterThanOrEqual(50)
  expect(atOnce(work('a', 50, []))).toBe('a')
})

test('short work is done without a turn', async () => {
  let isOver = false
  const running = new Turns(undefined, Infinity).run(work('a', 5, [])).then(() => (isOver = true))
  await Promise.resolve()
  await Promise.resolve()
  expect(isOver).toBe(true)
  await running
})

test('work whose caller has left ends before its next piece, and does not begin if the caller has left before', async () => {
  const caller = new AbortController()
  const left = new Error('left')
  const done: string[] = []
  const running = afterEachPiece(caller.signal).run(work('a', 1_000, done))
  await nextTurn()
  await nextTurn()
  caller.abort(left)
  const before = done.length
  await expect(running).rejects.toBe(left)
  expect(done).toHaveLength(before)
  expect(before).toBeLessThan(10)
  const late: string[] = []
  await expect(new Turns(caller.signal).run(work('b', 3, late))).rejects.toBe(left)
  expect(late).toEqual([])
})

test('work that awaits other things is told when its caller has left, also if no turn is due', async () => {
  const caller = new AbortController()
  const turns = new Turns(caller.signal, Infinity)
  expect(turns.isDue).toBe(false)
  caller.abort(new Error('left'))
  expect(turns.isDue).toBe(true)
  await expect(turns.give()).rejects.toThrow('left')
})

test('short work is soon done beside long work, and long work goes on beside any amount of short work', async () => {
  const done: string[] = []
  const long = afterEachPiece().run(work('long', 400, done, 1))
  for (let at = 0; at < 20; at += 1) await nextTurn()
  const begunAt = done.length
  const all = Array.from({ length: 10 }, (_, at) => afterEachPiece().run(work(`short${at} `, 10, done)))
  await Promise.all(all)
  const longMeanwhile = done.slice(begunAt).filter((one) => one.startsWith('long')).length
  // Half of the turns go to who has used least.
  expect(longMeanwhile).toBeGreaterThan(5)
  expect(longMeanwhile).toBeLessThan(150)
  // A short work that comes last is done long before the long work.
  await afterEachPiece().run(work('last', 10, done))
  expect(done.filter((one) => one.startsWith('long')).length).toBeLessThan(300)
  await long
})

test('the longest time that a stretch blocked others is known', async () => {
  const turns = new Turns()
  await turns.run(work('a', 2, [], 3 * STRETCH_MS))
  expect(turns.longestMs).toBeGreaterThanOrEqual(3 * STRETCH_MS)
  expect(pauseMsAfter(turns.longestMs)).toBeGreaterThan(0)
})
