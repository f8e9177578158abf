import { expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'

const MOUNT = 'mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@"'
const mounting = (at: string): readonly string[] => ['-rm', 'sh', '-c', MOUNT, at]
const PROGRAM = fileURLToPath(new URL('../support/logs-on-full-disk.ts', import.meta.url))

const withSmallDisk = testWhere(
  (() => {
    using folder = temporaryFolder()
    return spawnSync('unshare', [...mounting(folder.path), 'true']).status === 0
  })(),
  'unshare -rm can not mount a tmpfs: the suite for logs on a full disk can not run.',
)

withSmallDisk(
  'on a full disk a log takes the place of the oldest, and nobody below the largest share loses one',
  async () => {
    using folder = temporaryFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    const run = spawnSync('unshare', [...mounting(disk), process.execPath, PROGRAM, disk], {
      encoding: 'utf8',
    })
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
