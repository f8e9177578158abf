import { spawnSync } from 'node:child_process'

/** The cores of the server and the generator, so that neither uses the processor time of the other. */
export const CORE = { server: 0, generator: 1 } as const

/** True if both can be pinned to their cores. Without `taskset` they share the cores, and the result says so. */
export const isPinned = Object.values(CORE).every(
  (core) => spawnSync('taskset', ['-c', String(core), 'true']).status === 0,
)

/** The command that runs a program on one core, if that is possible. */
export function pinned(
  core: (typeof CORE)[keyof typeof CORE],
  command: string,
  args: readonly string[],
): [string, string[]] {
  return isPinned ? ['taskset', ['-c', String(core), command, ...args]] : [command, [...args]]
}
