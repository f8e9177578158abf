import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { makeCheckout } from './support/checkout.ts'
import { until } from './support/until.ts'

const limitMs = 60_000

test(
  'a first start installs Node and the run-time packages; a second one calls npm no more and says nothing',
  async () => {
    using checkout = makeCheckout()
    const first = checkout.run('start.mjs', ['--exit=0'])
    expect(await first.ended()).toBe(0)
    expect(first.output()).toContain('Installing the run-time packages')
    expect(checkout.npmCalls()).toMatchObject([{ isForNode: true }, { isForNode: false }])
    expect(checkout.npmCalls()[1]?.flags).toContain('--omit=dev')

    const second = checkout.run('start.mjs', ['--exit=0'])
    expect(await second.ended()).toBe(0)
    const python = join(checkout.root, 'python-runner/.venv/bin/python')
    expect(second.output()).toBe(`ready --chosen= --parent-pipe=3 --python=${python} --exit=0\n`)
    expect(checkout.npmCalls()).toHaveLength(2)
  },
  limitMs,
)

test(
  'a changed lock installs the packages again in place of the old ones, but not Node',
  async () => {
    using checkout = makeCheckout()
    await checkout.run('start.mjs', ['--exit=0']).ended()
    const packages = join(checkout.root, 'node_modules')
    mkdirSync(join(packages, 'of the old lock'))
    writeFileSync(join(checkout.root, 'package-lock.json'), '{"packages":{"":{"name":"other"}}}')
    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
    expect(readdirSync(packages)).not.toContain('of the old lock')
    expect(readdirSync(packages)).toContain('whole')
    expect(checkout.npmCalls()).toMatchObject([
      { isForNode: true },
      { isForNode: false },
      { isForNode: false },
    ])
  },
  limitMs,
)

test(
  'run-time packages do not satisfy who needs all of them; all of them satisfy a start, and stay',
  async () => {
    using checkout = makeCheckout()
    await checkout.run('start.mjs', ['--exit=0']).ended()
    expect(await checkout.run('bench.mjs').ended()).toBe(0)
    expect(checkout.npmCalls()).toHaveLength(3)
    expect(checkout.npmCalls()[2]?.flags).toContain('--include=dev')

    await checkout.run('start.mjs', ['--exit=0']).ended()
    expect(checkout.npmCalls()).toHaveLength(3)

    writeFileSync(join(checkout.root, 'package-lock.json'), '{"packages":{"":{"name":"other"}}}')
    await checkout.run('start.mjs', ['--exit=0']).ended()
    expect(checkout.npmCalls()[3]?.flags).toContain('--include=dev')
  },
  limitMs,
)

test(
  'an install that is interrupted leaves no packages, and is done again from nothing by the next start',
  async () => {
    using checkout = makeCheckout()
    const packages = join(checkout.root, 'node_modules')
    const interrupted = checkout.run('start.mjs', [], 'hangs')
    await until(() => checkout.npmCalls().length === 2)
    interrupted.child.kill('SIGTERM')
    expect(await interrupted.ended()).toBe(143)
    expect(interrupted.output()).toContain('Stopped while installing the run-time packages')
    expect(existsSync(packages)).toBe(false)
    expect(readdirSync(join(checkout.root, '.toolrack'))).toEqual([])

    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
    expect(existsSync(join(packages, 'whole'))).toBe(true)
  },
  limitMs,
)

test.each([
  ['fails', 'fails', undefined, 1],
  ['is interrupted', 'hangs', 'SIGINT', 130],
  ['is killed', 'hangs', 'SIGKILL', null],
] as const)(
  'an addition of packages that %s leaves the packages that were there, with which a start needs no install',
  async (_how, fakeNpm, signal, code) => {
    using checkout = makeCheckout()
    await checkout.run('start.mjs', ['--exit=0']).ended()
    const packages = join(checkout.root, 'node_modules')
    const before = readdirSync(packages)
    const build = checkout.run('bench.mjs', [], fakeNpm)
    await until(() => checkout.npmCalls().length === 3)
    if (signal) build.child.kill(signal)
    await build.exited()
    expect(build.child.exitCode).toBe(code)
    if (signal === 'SIGKILL') process.kill(checkout.npmCalls()[2]?.pid ?? Number.NaN, 'SIGKILL')
    expect(readdirSync(packages)).toEqual(before)
    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
    expect(checkout.npmCalls()).toHaveLength(3)
  },
  limitMs,
)

test(
  'two first starts at the same time install once and both run',
  async () => {
    using checkout = makeCheckout()
    const runs = [checkout.run('start.mjs', ['--exit=0']), checkout.run('start.mjs', ['--exit=0'])]
    expect(await Promise.all(runs.map(async (run) => run.ended()))).toEqual([0, 0])
    expect(checkout.npmCalls()).toHaveLength(2)
  },
  limitMs,
)

test(
  'after a killed install the next start installs nothing, and says which lock to delete',
  async () => {
    using checkout = makeCheckout()
    const killed = checkout.run('start.mjs', [], 'hangs')
    await until(() => checkout.npmCalls().length === 2)
    killed.child.kill('SIGKILL')
    await killed.exited()

    process.kill(checkout.npmCalls()[1]?.pid ?? Number.NaN, 'SIGKILL')

    const next = checkout.run('start.mjs', ['--exit=0'])
    expect(await next.ended()).toBe(1)
    const lock = join(checkout.root, '.toolrack/install.lock')
    expect(next.output()).toContain(`was killed. Make sure that its npm or pip has ended, delete ${lock},`)
    expect(checkout.npmCalls()).toHaveLength(2)
    rmSync(lock)
    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
    expect(checkout.npmCalls()).toHaveLength(3)
  },
  limitMs,
)

test(
  'a failed install says what it was and why in npm’s words, and ends with code 1',
  async () => {
    using checkout = makeCheckout()
    const run = checkout.run('start.mjs', [], 'fails')
    expect(await run.ended()).toBe(1)
    expect(run.output()).toMatch(/^Could not install Node \S+\. The lines above say what npm lacked\.$/m)
    expect(run.output()).toContain('the registry is out of reach')
    expect(run.output()).not.toContain('    at ')
  },
  limitMs,
)

test(
  'a Node that npm left out and called a success is a failed install, and is tried again the next time',
  async () => {
    using checkout = makeCheckout()
    const run = checkout.run('start.mjs', [], 'leaves out')
    expect(await run.ended()).toBe(1)
    expect(run.output()).toContain('Could not install Node')
    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
  },
  limitMs,
)
