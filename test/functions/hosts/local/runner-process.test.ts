import { expect, test } from '@jest/globals'
import type { RunnerAway } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { RunnerEndpoint } from '../../../../functions/src/platform/runner/runner-request.ts'
import { isAlive } from '../../../support/processes.ts'
import { StandInRunner } from '../../../support/stand-in-runner.ts'
import { until } from '../../../support/until.ts'

const QUICK = { againMs: 1, againMsMax: 1 }

function endpointOf(runner: StandInRunner): () => Promise<RunnerEndpoint | RunnerAway> {
  return () => Promise.resolve(runner.process.endpoint)
}

async function listening(runner: StandInRunner): Promise<RunnerEndpoint> {
  return (await until(endpointOf(runner), (where) => 'url' in where)) as RunnerEndpoint
}

/** Why nobody can call it, once that is known. */
async function reason(runner: StandInRunner): Promise<string> {
  const where = await until(
    endpointOf(runner),
    (where) => 'status' in where && where.status === 'unreachable',
  )
  return (where as RunnerAway).reason
}

test('it is starting until it says where it listens, and its log is ours', async () => {
  await using runner = new StandInRunner('works')
  expect(runner.process.endpoint).toEqual({ status: 'starting', reason: 'The runner is being started.' })
  const { url, secret } = await listening(runner)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(runner.starts).toMatchObject([{ secret }])
  expect(runner.log).toContain('info  runner: Here I am.  {"slots":8}\n')
})

test.each([
  ['listens', 'works', undefined],
  ['has died', 'dies', 'unreachable'],
])('its first start is over when it %s', async (_when, kind, status) => {
  await using runner = new StandInRunner(kind)
  await runner.process.started
  expect((runner.process.endpoint as Partial<RunnerAway>).status).toBe(status)
})

test('its first start is over when it is stopped', async () => {
  await using runner = new StandInRunner('never ready')
  await runner.process.stop()
  await runner.process.started
  expect(runner.process.endpoint).toMatchObject({ status: 'starting' })
})

test('its environment is what it was given, and nothing of ours', async () => {
  await using runner = new StandInRunner('works')
  await listening(runner)
  expect(runner.starts[0]?.env).toEqual({ MARK: 'kept' })
})

test('killed, it is started again with another secret, and meanwhile somebody says so', async () => {
  await using runner = new StandInRunner('works', { againMs: 100 })
  const first = await listening(runner)
  process.kill(runner.starts[0]?.pid ?? 0, 'SIGKILL')
  expect(await reason(runner)).toBe('The runner was ended by SIGKILL; it is being started again.')
  const second = await listening(runner)
  expect([second.url === first.url, second.secret === first.secret]).toEqual([false, false])
  expect(runner.starts).toHaveLength(2)
  expect(runner.log).toContain('error runner was ended by SIGKILL; it is being started again\n')
})

test('one that dies at once is tried again, and its last word is the reason', async () => {
  await using runner = new StandInRunner('dies', QUICK)
  expect(await reason(runner)).toBe(
    'The runner has ended with exit code 3: It can not go on; it is being started again.',
  )
  await until(
    () => Promise.resolve(runner.starts),
    (starts) => starts.length > 2,
  )
  expect(runner.log).toContain('warn  runner: the first bad word\nerror runner: It can not go on.\n')
})

test('one that works at the third try works', async () => {
  await using runner = new StandInRunner('dies twice', QUICK)
  await listening(runner)
  expect(runner.starts).toHaveLength(3)
})

test('one with a setting that can not be used is not started again', async () => {
  await using runner = new StandInRunner('has a wrong setting', QUICK)
  expect(await reason(runner)).toBe(
    'The runner has ended with exit code 78: SLOTS is wrong; correct that, then start the server again.',
  )
  await runner.process.over
  expect(runner.starts).toHaveLength(1)
})

test.each(['speaks nonsense', 'listens elsewhere'])('one that %s is ended and gets no call', async (kind) => {
  await using runner = new StandInRunner(kind, QUICK)
  expect(await reason(runner)).toBe('The runner did not write its address first; it is being started again.')
  const [first] = runner.starts
  await until(
    () => Promise.resolve(isAlive(first?.pid ?? 0)),
    (alive) => !alive,
  )
})

test('one that never gets ready is ended', async () => {
  await using runner = new StandInRunner('never ready', { ...QUICK, readyMs: 300 })
  expect(await reason(runner)).toBe('The runner has not become ready in time; it is being started again.')
})

test('one that can not be started is told', async () => {
  const command = { command: '/nowhere/python', args: [], env: {} }
  await using runner = new StandInRunner('works', QUICK, command)
  expect(await reason(runner)).toBe('The runner cannot be started (ENOENT); it is being started again.')
})

test('one for which the machine has no room is told, and tried again', async () => {
  const command = { command: process.execPath, args: [], env: { TOO_MUCH: 'x'.repeat(4_000_000) } }
  await using runner = new StandInRunner('works', QUICK, command)
  expect(await reason(runner)).toBe('The runner cannot be started; it is being started again.')
  expect(runner.log).toMatch(/E2BIG/)
})

test('stopped, it ends by itself, and is not started again', async () => {
  const runner = new StandInRunner('works', QUICK)
  await listening(runner)
  const [first] = runner.starts
  await runner.process.stop()
  expect(isAlive(first?.pid ?? 0)).toBe(false)
  expect(runner.log).not.toMatch(/^(?:warn|error)/m)
  await runner[Symbol.asyncDispose]()
})

test('one that does not end by itself is ended with what it has started', async () => {
  const runner = new StandInRunner('does not stop', { stopMs: 200 })
  await listening(runner)
  const pids = runner.starts.map(({ pid }) => pid)
  expect(pids).toHaveLength(2)
  await runner.process.stop()
  await until(
    () => Promise.resolve(pids.filter(isAlive)),
    (alive) => alive.length === 0,
  )
  await runner[Symbol.asyncDispose]()
})

test('stopped while it waits for another start, it is over at once', async () => {
  const runner = new StandInRunner('dies', { againMs: 3_600_000 })
  await reason(runner)
  await runner[Symbol.asyncDispose]()
  expect(runner.process.endpoint).toMatchObject({ status: 'unreachable' })
})
