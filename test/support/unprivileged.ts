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
 * A command whose program must obey file permissions. Root drops the capability to override them. Any other account
 * needs no command. Undefined for root if setpriv is missing.
 */
export const UNPRIVILEGED = isRoot ? withoutCapabilities('dac_override', 'dac_read_search') : []

/** For root: a command whose program, like any other account, can change only the modes of its own files. */
export const NOT_OWNER = isRoot ? withoutCapabilities('fowner', 'dac_override', 'dac_read_search') : []

/** A command that runs a server as an ordinary user. Undefined if root cannot do this here. */
export const ORDINARY_USER = isRoot
  ? ifItWorks(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'], 'test', '-r', MAIN)
  : []
