import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { withInstallLock } from '../../scripts/toolchain/install-lock.mjs'

let root = ''
let path = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-lock-'))
  path = join(root, 'install.lock')
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function deadPid(): number {
  return spawnSync(process.execPath, ['--version']).pid
}

test('of many at once, one at a time is inside, and nothing is left behind', async () => {
  let inside = 0
  let most = 0
  async function visit(): Promise<void> {
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside--
  }
  await Promise.all(Array.from({ length: 8 }, async () => withInstallLock(path, visit)))
  expect(most).toBe(1)
  expect(readdirSync(root)).toEqual([])
})

test('an action that fails gives the lock back and its error on', async () => {
  const failing = withInstallLock(path, () => Promise.reject(new Error('no network')))
  await expect(failing).rejects.toThrow('no network')
  expect(existsSync(path)).toBe(false)
})

test('a lock whose processes are all gone is taken over without a wait, by one of many', async () => {
  writeFileSync(path, JSON.stringify({ token: 'old', host: hostname(), pids: [deadPid()] }))
  let waited = false
  const alone = await withInstallLock(path, async () => 'mine', { onWait: () => (waited = true) })
  expect([alone, waited]).toEqual(['mine', false])

  writeFileSync(path, JSON.stringify({ token: 'old', host: hostname(), pids: [deadPid()] }))
  let inside = 0
  async function visit(): Promise<number> {
    const others = inside++
    await new Promise((resolve) => setImmediate(resolve))
    inside--
    return others
  }
  const visits = await Promise.all(Array.from({ length: 8 }, async () => withInstallLock(path, visit)))
  expect(visits).toEqual(Array.from({ length: 8 }, () => 0))
})

test('a lock with one process still alive is waited for until its owner gives it back', async () => {
  writeFileSync(path, JSON.stringify({ token: 'theirs', host: hostname(), pids: [deadPid(), process.pid] }))
  const events: string[] = []
  await withInstallLock(path, async () => void events.push('inside'), {
    onWait: () => {
      events.push('waiting')
      rmSync(path)
    },
  })
  expect(events).toEqual(['waiting', 'inside'])
})

test.each([
  ['of another machine', JSON.stringify({ token: 'theirs', host: 'another-machine', pids: [1] })],
  ['torn while it was written', '{"tok'],
])('a lock %s is taken over once it was watched without being renewed', async (_what, text) => {
  writeFileSync(path, text)
  const taken = await withInstallLock(path, async () => 'mine', { silenceMaxMs: 50 })
  expect(taken).toBe('mine')
})
