import { spawnSync } from 'node:child_process'

/** The core of the server and the core of the generator. They differ, so that neither takes processor time from the other. */
export const CORE = { server: 0, generator: 1 } as const

/** True if both can have their own core. Without `taskset` they share all cores, and `pinned` in the result is false. */
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
