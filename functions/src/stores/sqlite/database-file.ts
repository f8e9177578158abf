import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { placeFinished, UNFINISHED } from '../../write-whole-file.ts'
import { isCut } from './file-headers.ts'
import { isBusy, isDamaged, isFull, sqliteError, tablesVersion } from './transaction.ts'

/** The properties of one kind of database file of this service. */
export type DatabaseKind = {
  /**
   * The application id in the header of the file (sqlite.org/fileformat2.html). Each kind of database has its own id. So it is
   * noticed if a file is in the place of another one.
   */
  readonly applicationId: number
  /** The SQL that makes the tables, indexes and triggers. */
  readonly schema: string
  /** The version of the schema, by default 1. A file of an earlier version is refused, unless `upgrade` is for that version. */
  readonly version?: number
  /** The SQL that makes a file of the version `from` to one of this version, in a time that does not depend on its size. */
  readonly upgrade?: { readonly from: number; readonly sql: string }
  /** The SQL with the settings of a connection. */
  readonly settings: string
  /** The tables that are read completely at the start, to find damage. If it is undefined, the whole file is read. */
  readonly checkedTables?: readonly string[]
}

/**
 * Thrown if the file cannot be used: it is empty, cut off, damaged, another database, or of a newer version. The message is a
 * predicate, such as `is empty`. Only a start throws it.
 */
export class DatabaseFileError extends Error {}

/** Thrown if the file is of an earlier version, whose tables this version cannot read. Only a start throws it. */
export class OlderDatabaseError extends DatabaseFileError {}

const IN_MEMORY = ':memory:'
/** The suffixes of the files that SQLite makes beside a database. */
const BESIDE = ['-wal', '-shm', '-journal'] as const

/**
 * Opens a database file, or makes it if there is none. A new file is made under another name and renamed when it is complete. So
 * a start that is killed leaves no incomplete file, and this service never makes an empty one. The busy timeout is zero, because
 * node:sqlite would block the event loop while it waits for a lock. Throws a DatabaseFileError. Tests pass `:memory:`.
 */
export function openDatabaseFile(path: string, kind: DatabaseKind): DatabaseSync {
  if (path === IN_MEMORY) return connected(path, kind)
  const bytes = statSync(path, { throwIfNoEntry: false })?.size
  if (bytes === undefined) makeFile(path, kind)
  else if (bytes === 0) throw new DatabaseFileError('is empty')
  else if (isCut(path)) throw new DatabaseFileError('is damaged: its end is missing')
  return connected(path, kind, check)
}

/** Opens a database. `check` runs before anything in the file is changed. There is none for a new database. */
function connected(
  path: string,
  kind: DatabaseKind,
  check?: (database: DatabaseSync, kind: DatabaseKind) => void,
): DatabaseSync {
  try {
    return openWith(path, (database) => {
      check?.(database, kind)
      database.exec(kind.settings)
      writeTables(database, kind)
    })
  } catch (error) {
    if (isDamaged(error)) throw new DatabaseFileError('is damaged, or is not a database', { cause: error })
    throw error instanceof DatabaseFileError ? error : sqliteError(error)
  }
}

/** Opens a connection to a database and calls `prepare` with it. If `prepare` throws, the connection is closed. */
export function openWith(path: string, prepare: (database: DatabaseSync) => void): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    prepare(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function makeFile(path: string, kind: DatabaseKind): void {
  const left = BESIDE.find((end) => existsSync(path + end))
  if (left) throw new DatabaseFileError(`is missing, and ${basename(path)}${left} is still there`)
  const unfinished = path + UNFINISHED
  // Removes an incomplete file of an earlier start that was killed.
  for (const end of ['', ...BESIDE]) rmSync(unfinished + end, { force: true })
  // SQLite gives the files that it makes beside the database the mode of the database.
  closeSync(openSync(unfinished, 'wx', 0o600))
  // Closing the only connection moves the content of the log into the file and onto the disk.
  connected(unfinished, kind).close()
  placeFinished(path)
}

/**
 * Makes the tables in a new file, and upgrades a file of the version before. In other files it writes only their version again,
 * for the reason in `fillLog`.
 */
function writeTables(
  database: DatabaseSync,
  { applicationId, schema, version = 1, upgrade }: DatabaseKind,
): void {
  const found = tablesVersion(database)
  const sql = found === 0 ? schema : found === upgrade?.from ? upgrade.sql : undefined
  const marks = `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version};`
  try {
    database.exec(`BEGIN IMMEDIATE; ${sql ?? ''} ${marks} COMMIT;`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    // Another program may be writing now, or the disk may be full. For an existing file this does not matter, but a new file
    // needs its tables, and an older one its new columns.
    if (sql !== undefined || !(isBusy(error) || isFull(error))) throw error
  }
}

function check(
  database: DatabaseSync,
  { applicationId, schema, version = 1, upgrade, checkedTables }: DatabaseKind,
): void {
  const id = Number(database.prepare('PRAGMA application_id').get()?.['application_id'])
  const found = tablesVersion(database)
  // The id is 0 in files of the first versions, which wrote no application id.
  if (id !== 0 && id !== applicationId)
    throw new DatabaseFileError('is the database of another program, or another file of this service')
  if (found > version) throw new DatabaseFileError('was written by a newer version of Toolrack')
  if (found > 0 && found < version && found !== upgrade?.from)
    throw new OlderDatabaseError('was written by an earlier version of Toolrack')
  const present = objectsIn(database)
  const missing = found === 0 ? undefined : [...objectsOf(schema)].find((name) => !present.has(name))
  if (found === 0 || missing !== undefined)
    throw new DatabaseFileError(`is a database without ${missing ?? 'the tables of Toolrack'}`)
  const checks = checkedTables?.filter((name) => present.has(`the table ${name}`)) ?? ['1']
  for (const checked of checks)
    if (database.prepare(`PRAGMA quick_check(${checked})`).get()?.['quick_check'] !== 'ok')
      throw new DatabaseFileError('is damaged')
}

/**
 * Writes the version of the tables again. So the write-ahead log of a running server is never empty. If the log is empty at the
 * next start, another program has emptied it.
 */
export function fillLog(database: DatabaseSync): void {
  database.exec(`PRAGMA user_version = ${tablesVersion(database)}`)
}

/** The tables, indexes and triggers of a database, for example `the table rules`. */
function objectsIn(database: DatabaseSync): ReadonlySet<string> {
  const rows = database.prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all()
  return new Set(rows.map(({ type, name }) => `the ${String(type)} ${String(name)}`))
}

/** The tables, indexes and triggers that the schema makes. */
function objectsOf(schema: string): ReadonlySet<string> {
  const database = new DatabaseSync(IN_MEMORY)
  try {
    database.exec(schema)
    return objectsIn(database)
  } finally {
    database.close()
  }
}
