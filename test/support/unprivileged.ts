import { spawnSync } from 'node:child_process'

const SETPRIV = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search']

/**
 * A command that makes file permissions hold for what it runs: root takes the capability to pass over them off, any
 * other account needs nothing. Undefined for root where setpriv is missing.
 */
export const UNPRIVILEGED: readonly string[] | undefined =
  process.getuid?.() !== 0
    ? []
    : spawnSync('setpriv', [...SETPRIV.slice(1), 'true']).status === 0
      ? SETPRIV
      : undefined
