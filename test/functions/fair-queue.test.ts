import { expect, test } from '@jest/globals'
import { isToolrackError } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairQueue, IDLE_USERS_MAX } from '../../functions/src/fair-queue.ts'
import type { QueueBounds, QueueClock } from '../../functions/src/fair-queue.ts'

type Step =
  | { user: string; asks: string; becomes: 'running' | 'waiting' | 'refused'; refuses?: string }
  | { ends: string; starts: string[] }
  | { leaves: string; starts: string[] }
  | { pauses: string; forMs: number }
  | { after: number; starts: string[] }
type Case = QueueBounds & { name: string; steps: Step[] }

const { cases } = JSON.parse(
  readFileSync(new URL('../support/fair-queue.json', import.meta.url), 'utf8'),
) as { cases: Case[] }

/** A clock that goes on when the test says so. */
function handClock(): QueueClock & { after: (ms: number) => void } {
  let nowMs = 0
  const alarms: { atMs: number; act: () => void }[] = []
  return {
    nowMs: () => nowMs,
    later: (ms, act) => void alarms.push({ atMs: nowMs + ms, act }),
    after(ms) {
      nowMs += ms
      for (const { act } of alarms.filter(({ atMs }) => atMs <= nowMs)) act()
    },
  }
}

const refusal = (): Error => new Error('full')
const whyNotRun = (error: Error): string =>
  isToolrackError(error) && error.code === 'CANCELLED' ? 'gone' : error.message
const FREE = { places: 1, placesPerUser: 1, waitingPerUser: 9, waitingMax: 9 }

/** A queue, and what became of everything that was asked of it. */
function queueing(bounds: QueueBounds) {
  const clock = handClock()
  const queue = new FairQueue(bounds, refusal, clock)
  const started: string[] = []
  const failed: string[] = []
  const work = new Map<string, { end: () => void; gone: AbortController }>()
  function ask(user: string | null, name: string): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const gone = new AbortController()
    work.set(name, { end: resolve, gone })
    const act = (): Promise<void> => {
      started.push(name)
      return promise
    }
    queue.run(user, act, gone.signal).catch((error: Error) => failed.push(`${name} ${whyNotRun(error)}`))
  }
  return {
    queue,
    clock,
    started,
    failed,
    ask,
    end: (name: string) => work.get(name)?.end(),
    leave: (name: string) => work.get(name)?.gone.abort(),
  }
}

test.each(cases)('users share places: $name', async ({ steps, ...bounds }) => {
  const { queue, clock, started, failed, ask, end, leave } = queueing(bounds)
  for (const step of steps) {
    started.length = 0
    failed.length = 0
    if ('asks' in step) ask(step.user, step.asks)
    else if ('ends' in step) end(step.ends)
    else if ('leaves' in step) leave(step.leaves)
    else if ('pauses' in step) queue.pause(step.pauses, step.forMs)
    else clock.after(step.after)
    await nextTurn()
    if ('asks' in step) {
      expect(started).toEqual(step.becomes === 'running' ? [step.asks] : [])
      const refused = step.becomes === 'refused' ? [step.asks] : (step.refuses ?? [])
      expect(failed).toEqual([refused].flat().map((name) => `${name} full`))
    } else {
      expect(started).toEqual('starts' in step ? step.starts : [])
      expect(failed).toEqual('leaves' in step ? [`${step.leaves} gone`] : [])
    }
  }
})

test("any number of the service's own may wait: they take turns with users and are never refused for them", async () => {
  const { started, failed, ask, end } = queueing({ ...FREE, waitingPerUser: 2, waitingMax: 2 })
  ask('a', 'a1')
  for (const name of ['own1', 'own2', 'own3']) ask(null, name)
  for (const name of ['a2', 'a3', 'a4']) ask('a', name)
  ask('b', 'b1')
  for (const name of ['a1', 'own1', 'b1', 'a2', 'own2']) {
    end(name)
    await nextTurn()
  }
  expect(started).toEqual(['a1', 'own1', 'b1', 'a2', 'own2', 'own3'])
  expect(failed).toEqual(['a4 full', 'a3 full'])
})

test('who asks again as soon as they are answered does not keep another waiting', async () => {
  const { started, ask, end } = queueing({ ...FREE, waitingPerUser: 3 })
  for (const name of ['a1', 'a2', 'a3']) ask('a', name)
  ask('c', 'c1')
  for (const [ended, next] of [
    ['a1', 'd1'],
    ['c1', 'c2'],
    ['d1', 'd2'],
  ]) {
    end(ended ?? '')
    await nextTurn()
    ask(next?.[0] ?? '', next ?? '')
  }
  expect(started).toEqual(['a1', 'c1', 'd1', 'a2'])
})

test('who has gone is refused at once, and what fails makes room for the next', async () => {
  const { queue, started, ask } = queueing(FREE)
  const gone = queue.run('a', () => started.push('never'), AbortSignal.abort())
  await expect(gone).rejects.toMatchObject({ code: 'CANCELLED' })
  const failing = queue.run('a', () => Promise.reject(new Error('broken')))
  ask('b', 'b1')
  await expect(failing).rejects.toThrow('broken')
  expect(started).toEqual(['b1'])
})

test('all that wait can be refused, and what asks afterwards is run', async () => {
  const { queue, started, failed, ask, end } = queueing(FREE)
  ask('a', 'a1')
  ask('a', 'a2')
  ask(null, 'own1')
  queue.refuseWaiting(new Error('no process'))
  end('a1')
  await nextTurn()
  ask('b', 'b1')
  await nextTurn()
  expect([started, failed]).toEqual([
    ['a1', 'b1'],
    ['a2 no process', 'own1 no process'],
  ])
})

test('its state tells places, what runs, who waits and for how long', async () => {
  const { queue, clock, ask, end } = queueing({ ...FREE, places: 2 })
  const none = { places: 2, running: 0, waiting: 0, usersWaiting: 0, longestWaitMs: 0 }
  expect(queue.state).toEqual(none)
  for (const name of ['a1', 'a2']) ask('a', name)
  clock.after(70)
  ask('a', 'a3')
  for (const name of ['b1', 'b2']) ask('b', name)
  clock.after(30)
  expect(queue.state).toEqual({ places: 2, running: 2, waiting: 3, usersWaiting: 2, longestWaitMs: 100 })
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) {
    end(name)
    await nextTurn()
  }
  expect(queue.state).toEqual(none)
})

test('however many users come while one waits who is paused, so many are remembered', async () => {
  const { queue, clock, started, ask, end } = queueing({ ...FREE, places: 2 })
  ask('held', 'held1')
  ask('paused', 'paused1')
  end('paused1')
  await nextTurn()
  queue.pause('paused', 1_000)
  ask('paused', 'paused2')
  for (let index = 0; index < 3 * IDLE_USERS_MAX; index += 1) {
    ask(`u${index}`, `u${index}`)
    end(`u${index}`)
    await nextTurn()
  }
  expect(queue.state).toMatchObject({ running: 1, waiting: 1 })
  expect(queue.knownUsers).toBeLessThanOrEqual(IDLE_USERS_MAX)
  // Who is forgotten comes back behind the one who has waited, and those who are remembered come last.
  ask('last', 'last1')
  for (const [user, name] of [
    [`u${3 * IDLE_USERS_MAX - 1}`, 'known'],
    ['u0', 'forgotten'],
  ] as const)
    ask(user, name)
  clock.after(1_000)
  started.length = 0
  for (const name of ['last1', 'paused2', 'forgotten', 'known']) {
    end(name)
    await nextTurn()
  }
  expect(started).toEqual(['paused2', 'forgotten', 'known'])
  end('held1')
  await nextTurn()
  expect(queue.knownUsers).toBe(0)
})
