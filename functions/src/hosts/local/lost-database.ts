import { join } from 'node:path'
import { EXIT, StartError } from './start-error.ts'

/** For each database that must not be lost silently, words for its content. */
const HELD = {
  'toolrack.db': 'the definitions and modules of users',
  'governance.sqlite': 'the rules, approvals, sessions, scopes and agents, and the keys of calls',
  'audit.sqlite': 'the audit trail',
} as const

export type DatabaseName = keyof typeof HELD
export const DATABASE_NAMES = Object.keys(HELD) as readonly DatabaseName[]

/** The name of the file in the data folder that lists the databases which were made there. */
export const DATABASE_LIST = 'databases'

/** The error of a start if a database is missing or damaged. `fault` is a predicate, such as `is empty`. */
export function lostDatabase(folder: string, name: DatabaseName, fault: string): StartError {
  const path = join(folder, name)
  const why = `It held ${HELD[name]}, so the server does not start without it. The server itself leaves no file like this: a person, another program or the disk has done it.`
  const cure = `Move ${path}* away and remove the line of ${name} from ${join(folder, DATABASE_LIST)}. Then put a copy of it back, or start without what it held.`
  return new StartError(`${path} ${fault}. ${why} ${cure}`, EXIT.damagedData)
}

/** The error of a start if a database has lost its newest changes. */
export function lostLog(folder: string, name: DatabaseName): StartError {
  const path = join(folder, name)
  const why = `It had the newest changes of ${HELD[name]}. The server was killed, and a person or another program has removed or emptied the log since. (sqlite3 removes it when it has moved the changes into the database. Then nothing is lost.)`
  const cure = `Put the log back, or, to start with what the database holds, remove the line of ${name} from ${join(folder, DATABASE_LIST)}.`
  return new StartError(`${path}-wal, the write-ahead log, is missing. ${why} ${cure}`, EXIT.damagedData)
}

/** The error of a start if the data folder is of an earlier version. */
export function olderFolder(folder: string, name: DatabaseName, fault: string): StartError {
  const cure = `Move the folder ${folder} away, and start again: the server then makes a new one. Or start the earlier version.`
  return new StartError(
    `${join(folder, name)} ${fault}, which kept it in other tables. ${cure}`,
    EXIT.damagedData,
  )
}
