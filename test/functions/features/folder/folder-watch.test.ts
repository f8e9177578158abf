import { expect, test } from '@jest/globals'
import { mkdirSync, rmSync, watch as fsWatch, writeFileSync } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FolderWatch } from '../../../../functions/src/features/folder/folder-watch.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

/** A busy machine takes its time to tell. */

/** A poll that never comes within a test: what is seen then was told by the file system. */
const NEVER_MS = 1_000_000

class Scans {
  count = 0
  atOnce = 0
  atOnceMax = 0

  readonly scan = async (): Promise<void> => {
    this.count += 1
    this.atOnce += 1
    this.atOnceMax = Math.max(this.atOnceMax, this.atOnce)
    await pause(2)
    this.atOnce -= 1
  }
}

function more(scans: Scans, than: number): Promise<number> {
  return until(
    () => Promise.resolve(scans.count),
    (count) => count > than,
  )
}

test('many changes in a short time lead to one scan when they are over, and a change after it to another', async () => {
  using folder = temporaryFolder()
  const scans = new Scans()
  // No gap between two changes is as long, on however busy a machine.
  const patience = { pollMs: NEVER_MS, quietMs: 700, busyMs: NEVER_MS }
  const watch = new FolderWatch(folder.path, scans.scan, patience)
  await watch.scan()
  for (let change = 0; change < 100; change += 1) {
    writeFileSync(join(folder.path, 'a.py'), String(change))
    await pause(3)
  }
  await more(scans, 1)
  expect(scans.count).toBe(2)
  writeFileSync(join(folder.path, 'a.py'), 'once more')
  await more(scans, 2)
  expect(scans.count).toBe(3)
  expect(scans.atOnceMax).toBe(1)
  watch.close()
})

test('changes without end are looked at all the same', async () => {
  using folder = temporaryFolder()
  const scans = new Scans()
  const watch = new FolderWatch(folder.path, scans.scan, { pollMs: NEVER_MS, quietMs: 10_000, busyMs: 50 })
  await watch.scan()
  for (let change = 0; scans.count < 3 && change < 2_000; change += 1) {
    writeFileSync(join(folder.path, 'a.py'), String(change))
    await pause(2)
  }
  expect(scans.count).toBeGreaterThanOrEqual(3)
  watch.close()
})

test('a folder that is made later, and one that is made again, is watched', async () => {
  using outer = temporaryFolder()
  const path = join(outer.path, 'tools')
  const scans = new Scans()
  const watch = new FolderWatch(path, scans.scan, { pollMs: NEVER_MS, blindMs: 10 })
  await watch.scan()
  for (const round of ['made', 'made again']) {
    mkdirSync(path)
    await more(scans, scans.count)
    // By now it is watched, and nothing but a change leads to a scan.
    const before = await until(
      async () => {
        const { count } = scans
        await pause(100)
        return { count, since: scans.count - count }
      },
      ({ since }) => since === 0,
    )
    writeFileSync(join(path, 'a.py'), round)
    await more(scans, before.count)
    rmSync(path, { recursive: true })
    await more(scans, scans.count + 3)
  }
  watch.close()
})

function noneLeft(): never {
  throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
    code: 'ENOSPC',
  })
}

test('where the system has no watch left, or takes one back, the folder is looked at more often', async () => {
  using folder = temporaryFolder()
  const scans = new Scans()
  const patience = { pollMs: NEVER_MS, blindMs: 5 }
  const blind = new FolderWatch(folder.path, scans.scan, patience, noneLeft)
  await blind.scan()
  expect(blind.isWatching).toBe(false)
  await more(scans, 3)
  blind.close()
  const given: FSWatcher[] = []
  const taken = ((...args: Parameters<typeof fsWatch>) => {
    const watcher = fsWatch(...args)
    given.push(watcher)
    return watcher
  }) as typeof fsWatch
  const losing = new FolderWatch(folder.path, scans.scan, patience, taken)
  await losing.scan()
  const before = scans.count
  given.at(-1)?.emit('error', new Error('taken back'))
  await more(scans, before)
  expect(losing.isWatching).toBe(true)
  losing.close()
})

test('where nothing tells, the folder is looked at now and then; after the end no more', async () => {
  using folder = temporaryFolder()
  const scans = new Scans()
  const watch = new FolderWatch(folder.path, scans.scan, { pollMs: 5 })
  await watch.scan()
  await more(scans, 3)
  watch.close()
  const { count } = scans
  await watch.scan()
  await pause(30)
  // The one that was under way.
  expect(scans.count).toBeLessThanOrEqual(count + 1)
})

test('a scan that is asked for begins after the asking', async () => {
  using folder = temporaryFolder()
  const scans = new Scans()
  const watch = new FolderWatch(folder.path, scans.scan, { pollMs: NEVER_MS })
  const first = watch.scan()
  await more(scans, 0)
  const [second, third] = [watch.scan(), watch.scan()]
  await Promise.all([first, second, third])
  expect(scans.count).toBe(2)
  watch.close()
})
