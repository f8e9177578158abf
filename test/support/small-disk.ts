import { spawnSync } from 'node:child_process'
import { temporaryFolder } from './temporary-folder.ts'
import { testWhere } from './test-where.ts'

/**
 * A command that mounts this many MB of memory at a folder, runs `prepare` there with the folder as $0, and becomes the program
 * after it. Only this program sees the mount.
 */
export function onSmallDisk(at: string, megabytes: number, prepare = 'true'): readonly [string, ...string[]] {
  const mount = `mount -t tmpfs -o size=${megabytes}m tmpfs "$0" && ${prepare} && exec "$@"`
  return ['unshare', '-rm', 'sh', '-c', mount, at]
}

function canMount(): boolean {
  using folder = temporaryFolder()
  const [command, ...rest] = onSmallDisk(folder.path, 1)
  return spawnSync(command, [...rest, 'true']).status === 0
}

/** `test`, or a skipped test if this machine can not mount a small disk. */
export const withSmallDisk = testWhere(
  canMount(),
  'unshare -rm can not mount a tmpfs: the suites for a full disk can not run.',
)
