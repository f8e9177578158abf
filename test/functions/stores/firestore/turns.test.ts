import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { Turns } from '../../../../functions/src/stores/firestore/turns.ts'

let turns: Turns
let log: string[]

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] })
  turns = new Turns()
  log = []
})
afterEach(() => {
  jest.useRealTimers()
})

/** Wants to write; says when it begins, and ends when it is let. */
function writer(name: string, what = 'layer', waitMs = 1_000) {
  const { promise, resolve: finish, reject: fail } = Promise.withResolvers<string>()
  const done = turns.take(what, waitMs, () => {
    log.push(name)
    return promise
  })
  done.catch(() => undefined)
  return { done, finish: () => finish(name), fail: () => fail(new Error(name)) }
}

const settle = (): Promise<void> => jest.advanceTimersByTimeAsync(0)

test('one acts at a time, in the order in which they came', async () => {
  const [a, b, c] = [writer('a'), writer('b'), writer('c')]
  await settle()
  expect(log).toEqual(['a'])
  a.finish()
  await settle()
  expect(log).toEqual(['a', 'b'])
  b.finish()
  c.finish()
  expect(await Promise.all([a.done, b.done, c.done])).toEqual(['a', 'b', 'c'])
})

test('one that fails lets the next one act', async () => {
  const [a, b] = [writer('a'), writer('b')]
  a.fail()
  b.finish()
  await expect(a.done).rejects.toThrow('a')
  expect(await b.done).toBe('b')
})

test('those who want something else do not wait', async () => {
  writer('a')
  const other = writer('other', 'another layer')
  other.finish()
  expect(await other.done).toBe('other')
})

test('whose turn does not come in time is told that nothing was written, and never acts', async () => {
  const a = writer('a')
  const late = writer('late')
  await jest.advanceTimersByTimeAsync(1_000)
  await expect(late.done).rejects.toMatchObject({ code: 'STORE_BUSY' })
  a.finish()
  await settle()
  expect(log).toEqual(['a'])
})

test('who acts may take longer than others may wait', async () => {
  const a = writer('a')
  await jest.advanceTimersByTimeAsync(5_000)
  a.finish()
  expect(await a.done).toBe('a')
})

test('one that has given up does not let those behind it act beside the one that acts', async () => {
  const a = writer('a')
  writer('late')
  const patient = writer('patient', 'layer', 10_000)
  await jest.advanceTimersByTimeAsync(1_000)
  const newcomer = writer('newcomer', 'layer', 10_000)
  await settle()
  expect(log).toEqual(['a'])
  a.finish()
  await settle()
  expect(log).toEqual(['a', 'patient'])
  patient.finish()
  newcomer.finish()
  expect(await newcomer.done).toBe('newcomer')
})
