import { expect, test } from '@jest/globals'
import { makeCheckout } from './support/checkout.ts'

const limitMs = 60_000

test(
  'start hands its arguments to the service, and the exit code of the service back',
  async () => {
    using checkout = makeCheckout()
    const run = checkout.run('start.mjs', ['--port=0', '--exit=3'])
    expect(await run.ended()).toBe(3)
    expect(run.output()).toMatch(/^ready --parent-pipe=3 --python=\S+ --port=0 --exit=3$/m)
  },
  limitMs,
)

test(
  'SIGTERM to start reaches the service, and start leaves with its exit code and after it',
  async () => {
    using checkout = makeCheckout()
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
    using checkout = makeCheckout()
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
    using checkout = makeCheckout()
    const run = checkout.run('start.mjs')
    await run.said('ready')
    run.child.kill('SIGKILL')
    await run.ended()
    expect(run.output()).toContain('parent pipe closed')
  },
  limitMs,
)
