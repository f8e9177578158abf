import { expect, test } from '@jest/globals'
import { existsSync, writeFileSync } from 'node:fs'
import { WAITING_PER_USER } from '../../../../functions/src/catalog/schemas/worker-pool.ts'
import { isAlive } from '../../../support/processes.ts'
import { ADMITTED, pidOf, working } from '../../../support/schema-workers/working.ts'
import { until } from '../../../support/until.ts'

/** What became of the questions, once the process that they wait for is let go: one that is wrongly taken is answered then. */
function settledAfter(
  asked: readonly Promise<unknown>[],
  letGo: () => void,
): Promise<PromiseSettledResult<unknown>[]> {
  const settled = Promise.allSettled(asked)
  letGo()
  return settled
}

test('when no process can be started, all that wait are told to try again, and the log has the reason', async () => {
  const told: unknown[] = []
  const error = (...said: unknown[]): void => void told.push(said)
  const log = { info: error, warn: error, error }
  await using it = working({ log }, 'process.exit(7)')
  const asked = await Promise.allSettled([it.ask(''), it.ask(''), it.ask('')])
  const refused = {
    status: 'rejected',
    reason: expect.objectContaining({
      code: 'SERVICE_BUSY',
      message: 'The service could not start the process for its checks; nothing was done. Try again.',
    }),
  }
  expect(asked).toEqual([refused, refused, refused])
  expect(it.count('starts')).toBe(2)
  const reason = expect.stringMatching(/worker\.mjs could not be started \(exit code 7\)$/)
  expect(told).toEqual([['a process for checks could not be started', { reason }]])
})

test('only so many questions of one user wait, any number of the service itself and those of others, and all are answered', async () => {
  await using it = working()
  const running = it.ask(`await ${it.at('go')}`)
  const waiting = Array.from({ length: WAITING_PER_USER }, () => it.ask(''))
  const own = Array.from({ length: WAITING_PER_USER }, () => it.ask('', { user: null }))
  const [tooMany] = await settledAfter([it.ask('')], () => writeFileSync(it.at('go'), ''))
  expect(tooMany).toMatchObject({
    status: 'rejected',
    reason: {
      code: 'SERVICE_BUSY',
      message: 'As many of your checks wait as may; nothing was done. Try again.',
    },
  })
  const all = [running, ...waiting, ...own]
  expect(await Promise.all(all)).toEqual(all.map(() => ADMITTED))
  expect(await it.ask('')).toEqual(ADMITTED)
})

test('a question whose caller goes while it waits is never asked, and makes room for another', async () => {
  await using it = working()
  const running = it.ask(`await ${it.at('go')}`)
  const caller = new AbortController()
  const left = it.ask(`count ${it.at('asked')}`, { signal: caller.signal })
  const others = Array.from({ length: WAITING_PER_USER - 1 }, () => it.ask(''))
  caller.abort()
  const late = it.ask(`count ${it.at('asked')}`, { signal: caller.signal })
  others.push(it.ask(''))
  const given = await settledAfter([left, late], () => writeFileSync(it.at('go'), ''))
  // No plain error: the pipeline would log that as a failure of the service.
  const refused = { status: 'rejected', reason: { code: 'CANCELLED' } }
  expect(given).toMatchObject([refused, refused])
  expect(await Promise.all([running, ...others])).toHaveLength(WAITING_PER_USER + 1)
  expect(existsSync(it.at('asked'))).toBe(false)
})

test('a question whose caller goes while it is answered is answered, and the process is kept', async () => {
  await using it = working()
  const pid = await pidOf(it)
  const caller = new AbortController()
  const running = it.ask(`await ${it.at('go')}`, { signal: caller.signal })
  caller.abort()
  writeFileSync(it.at('go'), '')
  expect(await running).toEqual(ADMITTED)
  expect(await pidOf(it)).toBe(pid)
})

/** A user's question that is answered when the test says so, and is at work when this resolves. */
async function busyWith(it: ReturnType<typeof working>, user: string, name: string) {
  const asked = it.ask(`mark-and-await ${it.at(name)}`, { user })
  await until(
    () => Promise.resolve(existsSync(it.at(name))),
    (isBusy) => isBusy,
  )
  return { asked, end: () => writeFileSync(it.at(`${name}.go`), '') }
}

test('a second process is started when a second user asks meanwhile, and one user has one of them', async () => {
  await using it = working()
  const pid = await pidOf(it)
  expect(await pidOf(it, { user: 'bob' })).toBe(pid)
  const ann = await busyWith(it, 'ann', 'ann')
  const more = it.ask('pid')
  const other = await pidOf(it, { user: 'bob' })
  expect(other).not.toBe(pid)
  expect(it.pool.state).toMatchObject({ places: 2, running: 1, waiting: 1, usersWaiting: 1 })
  ann.end()
  expect(await ann.asked).toEqual(ADMITTED)
  await more
  expect(isAlive(other)).toBe(true)
})

test('a user who keeps as many waiting as may is refused, and others are answered meanwhile', async () => {
  await using it = working()
  const busy = await busyWith(it, 'ann', 'ann')
  const waiting = Array.from({ length: WAITING_PER_USER }, () => it.ask('pid'))
  await expect(it.ask('pid')).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
  for (const user of ['bob', null, 'cid']) expect(await pidOf(it, { user })).toBeGreaterThan(0)
  expect(it.pool.state).toMatchObject({ running: 1, waiting: WAITING_PER_USER })
  busy.end()
  await Promise.all(waiting)
})

test('users whose questions wait are answered in turn', async () => {
  await using it = working()
  const both = [await busyWith(it, 'ann', 'ann'), await busyWith(it, 'bob', 'bob')]
  const order: string[] = []
  const ask = (user: string, name: string): Promise<unknown> =>
    it.ask('', { user }).then(() => order.push(name))
  const waiting = [ask('ann', 'ann1'), ask('ann', 'ann2'), ask('cid', 'cid1'), ask('cid', 'cid2')]
  both[1]?.end()
  await Promise.all(waiting.slice(2))
  expect(order).toEqual(['cid1', 'cid2'])
  both[0]?.end()
  await Promise.all(waiting)
  expect(order).toEqual(['cid1', 'cid2', 'ann1', 'ann2'])
})

test.each(['hang', 'fill'])(
  'a check that fails for its time or memory pauses its user for as long as it took, and nobody else: %s',
  async (title) => {
    // Each check takes an hour by this clock, so whoever is paused is not answered while the test runs.
    let nowMs = 0
    await using it = working({
      deadlineMs: title === 'hang' ? 1_000 : 60_000,
      nowMs: () => (nowMs += 3_600_000),
    })
    const took: number[] = []
    const spent = (ms: number): void => void took.push(ms)
    expect(await it.ask(title, { spent })).toEqual({ fault: expect.stringMatching(/^within /) })
    expect(took).toEqual([3_600_000])
    const gone = new AbortController()
    const paused = it.ask('pid', { signal: gone.signal })
    expect(await pidOf(it, { user: 'bob' })).toBeGreaterThan(0)
    expect(it.pool.state).toMatchObject({ running: 0, waiting: 1 })
    gone.abort()
    await expect(paused).rejects.toMatchObject({ code: 'CANCELLED' })
  },
)

test('a check of the service itself that fails pauses nobody', async () => {
  let nowMs = 0
  await using it = working({ deadlineMs: 1_000, nowMs: () => (nowMs += 3_600_000) })
  await it.ask('hang', { user: null })
  expect(await pidOf(it, { user: null })).toBeGreaterThan(0)
})

test('the time of a check is told without the time that it waited', async () => {
  let reads = 0
  await using it = working({ nowMs: () => (reads += 1) })
  const busy = await busyWith(it, 'ann', 'ann')
  const took: number[] = []
  const waiting = it.ask('', { spent: (ms) => void took.push(ms) })
  await it.ask('', { user: 'bob' })
  busy.end()
  await waiting
  expect(took).toEqual([1])
})

test('closing refuses at once what runs, waits, is paused or asked later, and kills the processes', async () => {
  let nowMs = 0
  await using it = working({ deadlineMs: 3_600_000, nowMs: () => (nowMs += 3_600_000) })
  const pid = await pidOf(it)
  await it.ask('fill', { user: 'paused' })
  const busy = await busyWith(it, 'ann', 'ann')
  const other = await busyWith(it, 'bob', 'bob')
  const asked = [
    busy.asked,
    other.asked,
    it.ask(''),
    it.ask('', { user: null }),
    it.ask('', { user: 'paused' }),
  ]
  const settled = Promise.allSettled(asked)
  await it.pool.close()
  const message = 'The service is stopping; nothing was done. Try again.'
  const refused = { status: 'rejected', reason: { code: 'SERVICE_BUSY', message } }
  expect(await settled).toMatchObject(asked.map(() => refused))
  await expect(it.ask('')).rejects.toMatchObject({ code: 'SERVICE_BUSY', message })
  expect(isAlive(pid)).toBe(false)
})

test('closing does not wait for a process that has not started yet, and starts no other', async () => {
  await using it = working(
    { startMs: 3_600_000 },
    'await new Promise(() => setInterval(() => undefined, 1000))',
  )
  const asked = Promise.allSettled([it.ask('')])
  await until(
    () => Promise.resolve(existsSync(it.at('starts')) && it.count('starts') > 0),
    (isStarting) => isStarting,
  )
  await it.pool.close()
  expect(await asked).toMatchObject([{ status: 'rejected', reason: { code: 'SERVICE_BUSY' } }])
  expect(it.count('starts')).toBe(1)
})
