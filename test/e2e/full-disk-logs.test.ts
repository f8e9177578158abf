import { expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onSmallDisk, withSmallDisk } from '../support/small-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const PROGRAM = fileURLToPath(new URL('../support/logs-on-full-disk.ts', import.meta.url))

withSmallDisk(
  'on a full disk a log takes the place of the oldest, and nobody below the largest share loses one',
  async () => {
    using folder = temporaryFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    const [command, ...rest] = onSmallDisk(disk, 2)
    const run = spawnSync(command, [...rest, process.execPath, PROGRAM, disk], { encoding: 'utf8' })
    expect([run.status, run.stderr]).toEqual([0, ''])
    const said = JSON.parse(run.stdout) as Record<string, unknown>
    expect(said).toEqual({
      diskWasFull: true,
      refused: 0,
      newestOfFlood: true,
      oldestOfFlood: false,
      honestKept: 5,
      integrity: 'ok',
    })
    await rm(disk, { recursive: true })
  },
)
