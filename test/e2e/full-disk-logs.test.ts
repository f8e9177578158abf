import { expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onSmallDisk, withSmallDisk } from '../support/small-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const program = (name: string): string => fileURLToPath(new URL(`../support/${name}.ts`, import.meta.url))

/** What the program says of a disk with so many MB. */
async function saidOn(megabytes: number, name: string): Promise<unknown> {
  using folder = temporaryFolder()
  const disk = join(folder.path, 'disk')
  mkdirSync(disk)
  const [command, ...rest] = onSmallDisk(disk, megabytes)
  const run = spawnSync(command, [...rest, process.execPath, program(name), disk], { encoding: 'utf8' })
  expect([run.status, run.stderr]).toEqual([0, ''])
  await rm(disk, { recursive: true })
  return JSON.parse(run.stdout)
}

withSmallDisk(
  'on a full disk a log takes the place of the oldest, and nobody below the largest share loses one',
  async () => {
    expect(await saidOn(2, 'logs-on-full-disk')).toEqual({
      diskWasFull: true,
      refused: 0,
      newestOfFlood: true,
      oldestOfFlood: false,
      honestKept: 5,
      integrity: 'ok',
    })
  },
)

withSmallDisk(
  'the copy of the audit trail on a full disk loses lines, says so once, and damages no later one',
  async () => {
    expect(await saidOn(1, 'audit-log-on-full-disk')).toEqual({
      errorsWhileFull: 1,
      errors: 1,
      damaged: 1,
      last: true,
    })
  },
)
