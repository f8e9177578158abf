import { expect, test } from '@jest/globals'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeCheckout } from './support/checkout.ts'

const limitMs = 60_000
const stamp = '.toolrack-stamp'
const memory = '/dev/shm'
const hasOtherFileSystem =
  existsSync(memory) && statSync(memory).dev !== statSync(fileURLToPath(import.meta.url)).dev

/** A checkout with packages of an old lock in two folders, and a lock that has changed. */
async function outdated() {
  const checkout = makeCheckout()
  await checkout.run('start.mjs', ['--exit=0']).ended()
  const folders = ['node_modules', 'functions/node_modules'].map((name) => join(checkout.root, name))
  for (const folder of folders) mkdirSync(join(folder, 'of the old lock'), { recursive: true })
  writeFileSync(join(checkout.root, 'package-lock.json'), '{"packages":{"":{"name":"other"},"functions":{}}}')
  const [packages = ''] = folders
  return {
    checkout,
    packages,
    state: () => folders.map((folder) => readdirSync(folder).toSorted()),
    start: (faults: Readonly<Record<string, string>> = {}) =>
      checkout.run('start.mjs', ['--exit=0'], 'works', 'works', {
        NODE_OPTIONS: `--import=${new URL('fixtures/faults.mjs', import.meta.url).href}`,
        FAULTS: JSON.stringify(faults),
      }),
    tidy: () => readdirSync(join(checkout.root, '.toolrack')),
    [Symbol.dispose]: () => checkout[Symbol.dispose](),
  }
}

test(
  'an npm that installs nothing and calls it a success leaves the old packages, and is a failed install',
  async () => {
    using old = await outdated()
    const before = old.state()
    const run = old.checkout.run('start.mjs', ['--exit=0'], 'installs nothing')
    expect(await run.ended()).toBe(1)
    expect(run.output()).toContain('npm ended without an error, but installed nothing')
    expect(old.state()).toEqual(before)
    expect(old.tidy()).toEqual([])
  },
  limitMs,
)

test(
  'a signal while folders are replaced ends the command when the new packages are there and the lock is gone',
  async () => {
    using old = await outdated()
    const run = old.start({ 'install/old/node_modules': 'SIGINT' })
    expect(await run.ended()).toBe(130)
    expect(run.output()).toContain('Stopped while installing the run-time packages.')
    expect(readdirSync(old.packages)).toContain('whole')
    expect(old.tidy()).toEqual([])
  },
  limitMs,
)

test(
  'a replacement that fails in its last folder leaves every folder as it was',
  async () => {
    using old = await outdated()
    const before = old.state()
    expect(await old.start({ 'install/old/node_modules': 'EACCES' }).ended()).toBe(1)
    expect(old.state()).toEqual(before)
    expect(old.tidy()).toEqual([])
  },
  limitMs,
)

test(
  'after a replacement that was killed half-way, an install that fails leaves the old packages in every folder',
  async () => {
    using old = await outdated()
    const before = old.state()
    await old.start({ 'install/old/node_modules': 'SIGKILL' }).ended()
    expect(existsSync(old.packages)).toBe(false)
    rmSync(join(old.checkout.root, '.toolrack/install.lock'))
    expect(await old.checkout.run('start.mjs', ['--exit=0'], 'fails').ended()).toBe(1)
    expect(old.state()).toEqual(before)
  },
  limitMs,
)

test(
  'a folder that cannot be moved has no stamp while it is filled, so a killed install is done again',
  async () => {
    using old = await outdated()
    await old.start({ 'install/old/node_modules': 'EBUSY', '/node_modules/whole': 'SIGKILL' }).ended()
    const left = readdirSync(old.packages)
    expect(left).toContain('whole')
    expect(left).not.toContain(stamp)
    rmSync(join(old.checkout.root, '.toolrack/install.lock'))
    expect(await old.start({ 'install/old/node_modules': 'EBUSY' }).ended()).toBe(0)
    expect(readdirSync(old.packages)).toContain(stamp)
    expect(readdirSync(old.packages)).not.toContain('of the old lock')
  },
  limitMs,
)

test(
  'if packages cannot be copied from another file system, the old ones stay',
  async () => {
    using old = await outdated()
    const before = old.state()
    const faults = { 'install/old/node_modules': 'EXDEV', '/node_modules.new': 'ENOSPC' }
    expect(await old.start(faults).ended()).toBe(1)
    expect(old.state()).toEqual(before)
    expect(old.tidy()).toEqual([])
  },
  limitMs,
)

const testOnTwo = hasOtherFileSystem ? test : test.skip
testOnTwo(
  'packages are replaced from a .toolrack on another file system',
  async () => {
    using old = await outdated()
    const elsewhere = mkdtempSync(join(memory, 'toolrack-'))
    try {
      rmSync(join(old.checkout.root, '.toolrack'), { recursive: true })
      symlinkSync(elsewhere, join(old.checkout.root, '.toolrack'))
      expect(await old.start().ended()).toBe(0)
      expect(readdirSync(old.packages).toSorted()).toEqual(['.package-lock.json', stamp, 'half', 'whole'])
      expect(existsSync(`${old.packages}.new`)).toBe(false)
      expect(old.tidy()).toEqual([])
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  },
  limitMs,
)
