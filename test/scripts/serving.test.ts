import { expect, test } from '@jest/globals'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCheckout } from './support/checkout.ts'
import { until } from './support/until.ts'

const limitMs = 60_000

const otherLock = '{"packages":{"":{"name":"other"}}}'

type Checkout = ReturnType<typeof makeCheckout>

/** A running start whose service looks for a file of its packages all the time. */
async function servedFrom(checkout: Checkout, file: string) {
  const run = checkout.run('start.mjs', [`--needs=${join(checkout.root, file)}`])
  await run.said('ready')
  return run
}

test.each([
  ['build.mjs', 'node_modules/whole'],
  ['check.mjs', 'node_modules/whole'],
  ['check.mjs', 'python-runner/.venv/whole'],
])(
  'while a server runs, %s adds the packages that it lacks, and %s is there all the time',
  async (script, file) => {
    using checkout = makeCheckout()
    const server = await servedFrom(checkout, file)
    const folders = ['node_modules', 'python-runner/.venv'].map((name) => join(checkout.root, name))
    const inodes = (): number[] => folders.map((folder) => statSync(folder).ino)
    const before = inodes()
    await checkout.run(script).ended()
    expect(checkout.npmCalls().map(({ flags }) => /--include=dev/.test(flags))).toEqual([false, false, true])
    expect(existsSync(join(checkout.root, 'node_modules/development'))).toBe(true)
    const pythonInstalls = checkout.pythonCalls().filter(({ line }) => line.startsWith('-I -m pip install'))
    expect(pythonInstalls).toHaveLength(script === 'check.mjs' ? 2 : 1)
    // A jail has mounted the folder itself, so that it must stay the same one.
    expect(inodes()).toEqual(before)
    expect(readdirSync(join(checkout.root, '.toolrack'))).toEqual([])
    expect(server.output()).not.toContain('the file is gone')
    server.child.kill('SIGTERM')
    expect(await server.ended()).toBe(7)
  },
  limitMs,
)

test.each([
  ['package-lock.json', otherLock, 'node_modules/whole'],
  ['python-runner/requirements.txt', 'changed', 'python-runner/.venv/whole'],
])(
  'while a server runs, packages of another %s are refused in one sentence, and nothing moves',
  async (lock, text, file) => {
    using checkout = makeCheckout()
    const server = await servedFrom(checkout, file)
    writeFileSync(join(checkout.root, lock), text)
    const refused = checkout.run('start.mjs', ['--exit=0'])
    expect(await refused.ended()).toBe(1)
    expect(refused.output()).toMatch(
      /^A server of this checkout runs \(process \d+\), and .* cannot be replaced beneath it: stop the server, then run this again\.\n$/,
    )
    expect(server.output()).not.toContain('the file is gone')
    server.child.kill('SIGTERM')
    await server.ended()
    expect(await checkout.run('start.mjs', ['--exit=0']).ended()).toBe(0)
  },
  limitMs,
)

test(
  'a server that is started during an install is not broken by it',
  async () => {
    using checkout = makeCheckout()
    await checkout.run('start.mjs', ['--exit=0']).ended()
    const lock = join(checkout.root, 'package-lock.json')
    const oldLock = readFileSync(lock)
    writeFileSync(lock, otherLock)
    const install = checkout.run('bench.mjs', [], 'waits')
    await until(() => checkout.npmCalls().length === 3)
    // The old state is whole, so a server of the old lock can start.
    writeFileSync(lock, oldLock)
    const server = await servedFrom(checkout, 'node_modules/whole')
    writeFileSync(lock, otherLock)
    writeFileSync(join(checkout.root, 'npm-may-end'), '')
    expect(await install.ended()).toBe(1)
    expect(install.output()).toContain('cannot be replaced beneath it')
    expect(server.output()).not.toContain('the file is gone')
  },
  limitMs,
)
