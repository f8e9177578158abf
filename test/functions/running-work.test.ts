import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { once, EventEmitter } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import {
  asPart,
  beginRequest,
  DELAY_MS,
  endStretch,
  listenForDelays,
  marked,
  requestIsOf,
  type LoopDelay,
} from '../../functions/src/running-work.ts'
import { until } from '../support/until.ts'

const LONG_MS = 1.5 * DELAY_MS

let delays: LoopDelay[]
let stop: () => void
beforeEach(() => {
  delays = []
  stop = listenForDelays((delay) => void delays.push(delay))
})
afterEach(() => stop())

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Uses so many milliseconds of the processor, so that nothing else runs. */
function block(ms: number): void {
  const end = usedMs() + ms
  while (usedMs() < end);
}

/** Waits so many milliseconds for something other than the event loop, as a slow disk makes a thread wait. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Handles a request as the edge does: in an event of its own, with the user known after a moment. */
function request(route: string, uid: string, act: () => void | Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(() => {
    const work = beginRequest(route)
    try {
      requestIsOf(uid)
      resolve(act())
    } finally {
      endStretch(work)
    }
  })
  return promise
}

const firstDelay = async (): Promise<LoopDelay> => {
  const [first] = await until(
    () => Promise.resolve(delays),
    ({ length }) => length > 0,
  )
  if (!first) throw new Error('there is no delay')
  return first
}

test.each([
  ['at once', () => block(LONG_MS)],
  [
    'after a promise',
    async () => {
      await Promise.resolve()
      block(LONG_MS)
    },
  ],
  [
    'after a timer',
    async () => {
      await pause(5)
      block(LONG_MS)
    },
  ],
  [
    'after a file was read',
    async () => {
      await readFile(import.meta.filename)
      block(LONG_MS)
    },
  ],
  [
    'after an event',
    async () => {
      const events = new EventEmitter()
      setTimeout(() => events.emit('it'), 5)
      await once(events, 'it')
      block(LONG_MS)
    },
  ],
  [
    'in many pieces that let nothing else run',
    async () => {
      for (let at = 0; at < 100; at += 1) {
        await Promise.resolve()
        block(LONG_MS / 100)
      }
    },
  ],
])('a request that blocks the loop %s is named, and one that comes meanwhile is not', async (_when, act) => {
  const blocking = request('GET /slow', 'ann', act)
  const others = Array.from({ length: 10 }, (_, at) =>
    request('GET /list', `bob${at}`, async () => {
      for (let turn = 0; turn < 5; turn += 1) await pause(1)
    }),
  )
  await Promise.all([blocking, ...others])
  const delay = await firstDelay()
  expect(delay).toMatchObject({ route: 'GET /slow', uid: 'ann' })
  expect(delay.ms).toBeGreaterThan(DELAY_MS)
  expect(delay.ranMs).toBeGreaterThan(DELAY_MS)
  expect(delay.processorMs).toBeGreaterThan(DELAY_MS)
  expect(delays.filter(({ uid }) => uid !== 'ann')).toEqual([])
})

test('work that waits for a disk is named too, and has used little of a processor', async () => {
  await request('GET /slow', 'ann', () => sleep(LONG_MS))
  const delay = await firstDelay()
  expect(delay).toMatchObject({ route: 'GET /slow', uid: 'ann' })
  expect(delay.processorMs).toBeLessThan(delay.ms / 2)
})

test('work of a part of the service is named as such, also if a request has begun it', async () => {
  await request('GET /list', 'bob', () =>
    asPart('the change feeds', async () => {
      await pause(1)
      block(LONG_MS)
    }),
  )
  const delay = await firstDelay()
  expect(delay).toMatchObject({ part: 'the change feeds' })
  expect(delay).not.toHaveProperty('uid')
})

test('a listener of events that is marked is work of the request that listens', async () => {
  const events = new EventEmitter()
  await request('POST /invoke', 'ann', () => {
    events.on(
      'data',
      marked(() => block(LONG_MS)),
    )
  })
  setTimeout(() => events.emit('data'), 5)
  expect(await firstDelay()).toMatchObject({ route: 'POST /invoke', uid: 'ann' })
})

test('work that nothing marks is nobody’s, whoever has worked a little meanwhile', async () => {
  const events = new EventEmitter()
  events.on('it', () => block(LONG_MS))
  await request('GET /list', 'bob', async () => {
    await pause(1)
    setTimeout(() => events.emit('it'), 1)
    await pause(5)
  })
  const delay = await firstDelay()
  expect(delay).not.toHaveProperty('uid')
  expect(delay).not.toHaveProperty('route')
})

test('a machine that sleeps delays the loop, and that is nobody’s work', async () => {
  await request('GET /list', 'bob', () => pause(1))
  setTimeout(() => sleep(LONG_MS), 5)
  await pause(LONG_MS)
  // A delay after it shows that the one before was not reported.
  await request('GET /slow', 'ann', () => block(LONG_MS))
  expect(await firstDelay()).toMatchObject({ uid: 'ann' })
})

test('short work beside other short work is no delay', async () => {
  for (let at = 0; at < 40; at += 1) {
    await request('GET /list', 'ann', () => block(10))
    await pause(1)
  }
  await request('GET /slow', 'bob', () => block(LONG_MS))
  expect(await firstDelay()).toMatchObject({ uid: 'bob' })
})

test('nothing is measured when nobody listens', () => {
  stop()
  expect(beginRequest('GET /list')).toBeUndefined()
})
