import { chmodSync, closeSync, lstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { TOKEN_FILES } from '../../access/local-token.ts'
import type { Log } from '../../log.ts'
import { UNFINISHED } from '../../write-whole-file.ts'
import { DATABASE_LIST, DATABASE_NAMES } from './lost-database.ts'
import { RUNNING_CALLS } from './running-calls-file.ts'
import { EXIT, StartError } from './start-error.ts'

const DATABASES = ['in-use', 'invocations.db', ...DATABASE_NAMES]

/** The file that keeps the results of checking the definition files. */
export const KEPT_ADMISSIONS = 'definition-files.cache'

/** The file with the users of the server, if it has more than one. */
export const USERS_FILE = 'users.json'

/** The file with the keys of secrets. */
export const SECRET_KEYS_FILE = 'secrets-keys.json'

/** The file with the address at which the server listens. */
export const ADDRESS_FILE = 'address'

/** The folder with the bytes of artifacts. */
export const ARTIFACTS_FOLDER = 'artifacts'

/** The other files of the server. */
const OTHERS = [
  ...Object.values(TOKEN_FILES),
  'job-keys.json',
  'audit-key.json',
  'sealing-key',
  SECRET_KEYS_FILE,
  ADDRESS_FILE,
  DATABASE_LIST,
  RUNNING_CALLS,
  KEPT_ADMISSIONS,
  USERS_FILE,
]

const withUnfinished = (name: string): string[] => [name, name + UNFINISHED]
const FILES = [
  ...DATABASES.flatMap(withUnfinished).flatMap((name) =>
    ['', '-wal', '-shm', '-journal', '-newest'].map((end) => name + end),
  ),
  ...OTHERS.flatMap(withUnfinished),
]

/**
 * Names in a folder that only the server uses. `emulators` has the logs of `npm run dev`, `packages` what modules have installed,
 * `artifacts` the files of users. `lost+found` is in the root of a new disk.
 */
const EXPECTED = new Set([...FILES, 'emulators', 'packages', ARTIFACTS_FOLDER, 'tools', 'lost+found'])

const OF_OTHERS = 0o077
const WRITTEN_BY_ALL = 0o002

/**
 * Makes the data folder and its files private to the account of the server. If the mode of the folder cannot be changed, logs a
 * warning. Throws a StartError if another account could read a file, or if every account could replace the token by its own. Does
 * nothing on Windows, which has no file modes.
 */
export function keepFolderPrivate(path: string, log: Pick<Log, 'warn'>): void {
  if (process.platform === 'win32') return
  tightenFolder(path, log)
  // The files are checked after the folder is private. From then on, no other account can replace a checked file by a link.
  for (const name of FILES) tightenFile(join(path, name))
}

/** Makes an empty private file, unless the file exists. SQLite gives the files beside the database the same mode. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function tightenFolder(path: string, log: Pick<Log, 'warn'>): void {
  const { mode } = statSync(path)
  if ((mode & OF_OTHERS) === 0) return
  // If the folder has files of other programs, its mode is not changed. It may be /tmp or the folder of a program, whose files
  // other accounts need.
  const isShared = readdirSync(path).some((name) => !EXPECTED.has(name))
  const reason = isShared ? 'it holds other things too' : changeMode(path, mode & 0o700)
  if (reason === undefined) return
  if ((mode & WRITTEN_BY_ALL) !== 0)
    throw new StartError(
      `Every account may write to the data folder ${path}, and its mode is not changed (${reason}); make it 0700, or set TOOLRACK_DATA to another folder.`,
      EXIT.unwritableData,
    )
  log.warn('the data folder is open to other accounts; the files in it are not', {
    folder: path,
    mode: (mode & 0o777).toString(8),
    reason,
  })
}

function tightenFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  const isLink = found.isSymbolicLink()
  const target = isLink ? statSync(path, { throwIfNoEntry: false }) : found
  if (target === undefined)
    throw new StartError(`${path} is a symbolic link to nothing; remove it.`, EXIT.unwritableData)
  if (!target.isFile() || (target.mode & OF_OTHERS) === 0) return
  // If the file is a link, its mode is not changed, because the target may be outside of the folder.
  const reason = isLink ? 'it is a symbolic link' : changeMode(path, target.mode & 0o600)
  if (reason === undefined) return
  throw new StartError(
    `Other accounts can read ${path}, and its mode is not changed (${reason}); make it a file of this account with mode 0600, or set TOOLRACK_DATA to another folder.`,
    EXIT.unwritableData,
  )
}

/**
 * Changes the mode of a file. If the mode was not changed, returns the reason. Some file systems accept every mode but do not
 * store it.
 */
function changeMode(path: string, mode: number): string | undefined {
  try {
    chmodSync(path, mode)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
  return (statSync(path).mode & OF_OTHERS) === 0 ? undefined : 'the file system keeps no modes'
}
