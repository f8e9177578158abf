import { readFileSync, statSync } from 'node:fs'
import {
  LOCAL_USERS_RULE,
  localUserMap,
  parseLocalUsers,
  type LocalUser,
  type LocalUserMap,
} from '../../access/local-users.ts'
import type { Log } from '../../log.ts'
import { EXIT, reasonOf, StartError } from './start-error.ts'

/** Milliseconds between two checks of the file. */
const CHECK_MS = 1_000

/** The stamp for a file that does not exist. */
const GONE = 'none'

/** The users of a file. Throws a StartError if the file cannot be used. */
export function readUsersFile(path: string): readonly LocalUser[] {
  const users = parseLocalUsers(textOf(path))
  if (users) return users
  throw new StartError(
    `${path} ${LOCAL_USERS_RULE}. Put a copy of it back, or move it away: then the server has one user again, with the printed token.`,
    EXIT.damagedData,
  )
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(
      `${path} cannot be read (${reasonOf(error)}); make it a file of this account, or move it away.`,
      EXIT.unwritableData,
    )
  }
}

/**
 * Watches the users in a file. After a change, the file is read again within a second. If the file becomes unusable, the last
 * users stay, and the log says so once. Throws a StartError if the file is unusable at the start.
 */
export function watchedUsers(path: string, log: Pick<Log, 'info' | 'error'>, now = Date.now) {
  let users: LocalUserMap = localUserMap(readUsersFile(path))
  let stamp = stampOf(path)
  let checkedAtMs = now()
  return function presentUsers(): LocalUserMap {
    if (now() - checkedAtMs < CHECK_MS) return users
    checkedAtMs = now()
    const present = stampOf(path)
    if (present === stamp) return users
    stamp = present
    try {
      users = localUserMap(readUsersFile(path))
      log.info('the users of this server have changed', { users: users.size / 2 })
    } catch (error) {
      const reason = present === GONE ? goneReason(path) : (error as Error).message
      log.error('the users cannot be read; the last ones stay', { reason })
    }
    return users
  }
}

function stampOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats ? [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ') : GONE
}

function goneReason(path: string): string {
  return `${path} is gone. Put it back. To have one user again, with the printed token, start the server again.`
}
