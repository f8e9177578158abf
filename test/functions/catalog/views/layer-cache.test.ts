import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { LayerCache } from '../../../../functions/src/catalog/views/layer-cache.ts'
import type { LayerReport } from '../../../../functions/src/catalog/views/layer-cache.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ScriptedLayerSource } from '../../../support/scripted-layer-source.ts'

let now = 0
let source: ScriptedLayerSource
let events: string[]
let cache: LayerCache

const report: LayerReport = (layer, event) =>
  events.push(event === 'back' ? `${layer} back` : `${layer} lost`)
const names = async (): Promise<string[]> => [...((await cache.current()).snapshot?.byName.keys() ?? [])]

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] })
  now = 0
  events = []
  source = new ScriptedLayerSource(tool('a'))
  cache = new LayerCache('global', source, { now: () => now, report })
})
afterEach(() => {
  jest.useRealTimers()
})

test('a second request within a second costs no read', async () => {
  await cache.current()
  now = 999
  await cache.current()
  expect(source.reads).toBe(1)
})

test('after a second one read asks for the revision, and an unchanged layer stays the same object', async () => {
  const first = await cache.current()
  now = 1_000
  const second = await cache.current()
  expect(source.reads).toBe(2)
  expect(second.snapshot).toBe(first.snapshot)
})

test('requests that come together share one read', async () => {
  await Promise.all([cache.current(), cache.current(), cache.current()])
  expect(source.reads).toBe(1)
})

test('another program’s write is seen after the second is over', async () => {
  await cache.current()
  source.set(tool('a'), tool('b'))
  expect(await names()).toEqual(['a'])
  now = 1_000
  expect(await names()).toEqual(['a', 'b'])
})

test('an own write is seen at once', async () => {
  await cache.current()
  source.set(tool('b'))
  cache.markWritten()
  expect(await names()).toEqual(['b'])
})

test('a write that comes while the layer is being read is read again, not lost', async () => {
  const release = source.hold()
  const reading = cache.current()
  source.set(tool('b'))
  cache.markWritten()
  release()
  expect([...((await reading).snapshot?.byName.keys() ?? [])]).toEqual(['b'])
})

test('entries whose content is the same are carried over', async () => {
  const before = (await cache.current()).snapshot?.byName.get('a')
  source.set(tool('a'), tool('b'))
  cache.markWritten()
  const after = (await cache.current()).snapshot?.byName.get('a')
  expect(after?.fragment.equals(before?.fragment ?? Buffer.of())).toBe(true)
})

test('a layer that fails keeps its last good state and says that it is stale; when it is back, so is the mark gone', async () => {
  await cache.current()
  now = 1_000
  source.fault = new Error('down')
  expect(await cache.current()).toMatchObject({ status: 'stale', snapshot: { revision: 's1' } })
  now = 2_000
  source.fault = undefined
  expect(await cache.current()).toMatchObject({ status: 'fresh', snapshot: { revision: 's1' } })
  expect(events).toEqual(['global lost', 'global back'])
})

test('a layer that never was read is an error, asked for again after a second, and reported once', async () => {
  source.fault = new Error('down')
  expect(await cache.current()).toEqual({ status: 'error' })
  now = 500
  await cache.current()
  expect(source.reads).toBe(1)
  now = 1_000
  await cache.current()
  expect(source.reads).toBe(2)
  expect(events).toEqual(['global lost'])
})

test('a layer that does not answer is waited for 1,500 ms without a last good state, and 300 ms with one', async () => {
  const releaseFirst = source.hold()
  const first = cache.current()
  await jest.advanceTimersByTimeAsync(1_499)
  expect(await settled(first)).toBe(false)
  await jest.advanceTimersByTimeAsync(1)
  expect(await first).toEqual({ status: 'error' })
  releaseFirst()
  await jest.advanceTimersByTimeAsync(0)
  expect(cache.state.status).toBe('fresh')

  now = 5_000
  const releaseSecond = source.hold()
  const second = cache.current()
  await jest.advanceTimersByTimeAsync(299)
  expect(await settled(second)).toBe(false)
  await jest.advanceTimersByTimeAsync(1)
  expect(await second).toMatchObject({ status: 'stale', snapshot: { revision: 's1' } })
  releaseSecond()
})

test('the time that a source needs to open is not taken from its first read', async () => {
  const open = source.close()
  const release = source.hold()
  const first = cache.current()
  await jest.advanceTimersByTimeAsync(10_000)
  open()
  await jest.advanceTimersByTimeAsync(1_499)
  expect(await settled(first)).toBe(false)
  release()
  expect(await first).toMatchObject({ status: 'fresh' })
})

test('while a slow read is under way, later requests within the second do not wait for it', async () => {
  await cache.current()
  now = 1_000
  const release = source.hold()
  const waiting = cache.current()
  await jest.advanceTimersByTimeAsync(300)
  await waiting
  now = 1_500
  expect(await cache.current()).toMatchObject({ status: 'stale' })
  expect(source.reads).toBe(2)
  release()
})

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  const turn = new Promise((resolve) => setImmediate(resolve, pending))
  return (await Promise.race([promise, turn])) !== pending
}
