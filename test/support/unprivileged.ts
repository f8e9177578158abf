import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../functions/src/local.ts', import.meta.url))

export const isRoot = process.getuid?.() === 0

function ifItWorks(command: readonly string[], ...probe: readonly string[]): readonly string[] | undefined {
  const [program = '', ...args] = [...command, ...probe]
  return spawnSync(program, args).status === 0 ? command : undefined
}

function withoutCapabilities(...names: readonly string[]): readonly string[] | undefined {
  return ifItWorks(['setpriv', '--bounding-set', names.map((name) => `-${name}`).join()], 'true')
}

/**
 * A command that makes file permissions hold for what it runs: root takes the capability to pass over them off, any
 * other account needs nothing. Undefined for root where setpriv is missing.
 */
export const UNPRIVILEGED = isRoot ? withoutCapabilities('dac_override', 'dac_read_search') : []

/** For root: a command that lets what it runs change the modes of its own files alone, as any other account does. */
export const NOT_OWNER = isRoot ? withoutCapabilities('fowner', 'dac_override', 'dac_read_search') : []

/** A command that runs a server as an ordinary user; undefined for root where that is impossible. */
export const ORDINARY_USER = isRoot
  ? ifItWorks(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'], 'test', '-r', MAIN)
  : []
