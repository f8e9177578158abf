import { spawnSync } from 'node:child_process'

/** A core of its own for each side, so that neither takes the other's time. */
export const CORE = { server: 0, generator: 1 } as const

/** Whether both cores can be had; without `taskset` the two sides share what there is, and the result says so. */
export const isPinned = Object.values(CORE).every(
  (core) => spawnSync('taskset', ['-c', String(core), 'true']).status === 0,
)

/** The command that runs on one core, where that can be had. */
export function pinned(
  core: (typeof CORE)[keyof typeof CORE],
  command: string,
  args: readonly string[],
): [string, string[]] {
  return isPinned ? ['taskset', ['-c', String(core), command, ...args]] : [command, [...args]]
}
