import { afterAll, expect, test } from '@jest/globals'
import { descendantsOf } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { makeCheckout } from './support/checkout.ts'

const limitMs = 60_000

/** The checkout of these tests. The first start installs what it needs. */
const checkout = makeCheckout()
afterAll(() => checkout[Symbol.dispose]())

function childOf(pid = 0): number {
  const [child] = descendantsOf(pid)
  if (child === undefined) throw new Error('it has no child')
  return child
}

test(
  'the options of start win over their variables, and the exit code of the service comes back',
  async () => {
    const env = { PORT: '1', HOST: 'from.variable', TOOLRACK_DATA: '/from/variable' }
    const end = ['--settings', '--exit=3']
    const args = ['--port', '9405', '--data=/my data', ...end]
    const run = checkout.run('start.mjs', args, 'works', 'works', env)
    expect(await run.ended()).toBe(3)
    expect(run.output()).toContain('\n9405 from.variable /my data\n')
    const other = checkout.run('start.mjs', ['--host', '::1', ...end], 'works', 'works', env)
    expect(await other.ended()).toBe(3)
    expect(other.output()).toContain('1 ::1 /from/variable\n')
  },
  limitMs,
)

test(
  'start tells the service which variables come from its options, and prints the settings without Python',
  async () => {
    using fresh = makeCheckout()
    const run = fresh.run('start.mjs', ['--port', '9405', '--print-config', '--exit=1'])
    expect(await run.ended()).toBe(1)
    expect(run.output()).toMatch(/^prints --chosen=PORT --print-config /m)
    expect(fresh.pythonCalls()).toEqual([])
  },
  limitMs,
)

test(
  'SIGTERM to start reaches the service, and start leaves with its exit code and after it',
  async () => {
    const run = checkout.run('start.mjs')
    await run.said('ready')
    run.child.kill('SIGTERM')
    expect(await run.ended()).toBe(7)
    expect(run.output()).toContain('SIGTERM')
  },
  limitMs,
)

test(
  'one Ctrl-C that arrives twice, from the terminal and through npm, is one SIGINT for the service',
  async () => {
    const run = checkout.run('start.mjs')
    await run.said('ready')
    run.child.kill('SIGINT')
    await run.said('SIGINT 1')
    run.child.kill('SIGINT')
    run.child.kill('SIGTERM')
    expect(await run.ended()).toBe(7)
    expect(run.output()).not.toContain('SIGINT 2')
  },
  limitMs,
)

test(
  'kill -9 of start closes the parent pipe, and the service ends by itself',
  async () => {
    const run = checkout.run('start.mjs')
    await run.said('ready')
    run.child.kill('SIGKILL')
    await run.ended()
    expect(run.output()).toContain('parent pipe closed')
  },
  limitMs,
)

test(
  'a service that was ready and died is started again with the port that it had',
  async () => {
    const run = checkout.run('start.mjs', ['--tell'], 'works', 'works', { PORT: '0' })
    await run.said('ready')
    const [, first = ''] = /process (\d+) port 0\n/.exec(run.output()) ?? []
    process.kill(Number(first), 'SIGKILL')
    await run.said('--restarted --tell\n')
    expect(run.output()).toContain('The service was ended by SIGKILL; it is being started again.\n')
    expect(run.output()).toMatch(/process \d+ port 4711\nready .* --restarted --tell\n/)
    run.child.kill('SIGTERM')
    expect(await run.ended()).toBe(7)
  },
  limitMs,
)

test(
  'a service that a signal ends before it was ready is started again',
  async () => {
    const run = checkout.run('start.mjs')
    await run.said('ready')
    process.kill(childOf(run.child.pid), 'SIGKILL')
    await run.said('The service was ended by SIGKILL; it is being started again.')
    await until(
      () => Promise.resolve(run.output().match(/^ready /gm)?.length),
      (lives) => lives === 2,
    )
    run.child.kill('SIGTERM')
    expect(await run.ended()).toBe(7)
  },
  limitMs,
)

test(
  'a service that was stopped by somebody else, and ends with code 0, is not started again',
  async () => {
    const run = checkout.run('start.mjs', ['--tell', '--exit=0'])
    expect(await run.ended()).toBe(0)
    expect(run.output()).not.toContain('again')
  },
  limitMs,
)

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s between two starts ends npm start with code 0, and nothing is started any more',
  async (signal) => {
    const run = checkout.run('start.mjs', ['--tell', '--die'])
    const deaths = (): number => run.output().match(/is being started again/g)?.length ?? 0
    // From the fifth death on the pause is one second.
    await until(
      () => Promise.resolve(deaths()),
      (count) => count === 6,
    )
    run.child.kill(signal)
    expect(await run.ended()).toBe(0)
    expect(deaths()).toBe(6)
  },
  limitMs,
)
