import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../log.ts'
import { hasLog, isMarked } from '../../stores/sqlite/file-headers.ts'
import { syncFolder, writeWholeFile } from '../../write-whole-file.ts'
import { DATABASE_LIST, DATABASE_NAMES, lostDatabase, lostLog, type DatabaseName } from './lost-database.ts'
import { EXIT, StartError } from './start-error.ts'

const STATES = ['open', 'closed'] as const
type State = (typeof STATES)[number]
/** The length of every written state. A changed state then needs no additional room, even on a full disk. */
const STATE_LENGTH = 6

const HEAD = '# The databases that this folder must have. To start without what one held, remove its line.'
const LINE = /^(?<name>[\w.-]+) +(?<state>\w+)$/

/**
 * A file in the data folder that lists the databases that were made there. Without this list, a removed database would be made
 * again, empty. A removed write-ahead log would take the newest rules with it. The list says `open` while a server has the
 * database open, because SQLite keeps the log until the database is closed.
 */
export class DatabaseList {
  readonly #folder: string
  readonly #log: Pick<Log, 'warn'>
  readonly #states: Map<string, State>
  #opened: readonly DatabaseName[] = []

  /** Reads the list, or makes it. Throws a StartError if one of the databases `names` is lost. The folder must be claimed. */
  constructor(folder: string, names: readonly DatabaseName[], log: Pick<Log, 'warn'>) {
    this.#folder = folder
    this.#log = log
    const read = readStates(folder)
    this.#states = read ?? presumedStates(folder, names)
    if (!read) this.#write()
    // The list is written before this check, because the error about a lost database refers to a line of the list.
    for (const name of names) this.#refuseLost(name)
    if (!read && isListed(folder))
      log.warn('the list of databases was missing, and was made again', { folder })
  }

  /** Notes that this process has opened these databases. */
  noteOpen(names: readonly DatabaseName[]): void {
    this.#opened = names
    // The names of the logs must be on the disk before the list says that there are logs. So the folder is synced first.
    syncFolder(this.#folder)
    for (const name of names) this.#states.set(name, hasLog(join(this.#folder, name)) ? 'open' : 'closed')
    this.#write()
  }

  /**
   * Notes that the databases will be closed now. Must be called before they are closed, because closing them removes their logs.
   */
  noteClosing(): void {
    for (const name of this.#opened) this.#states.set(name, 'closed')
    try {
      this.#write()
    } catch (error) {
      const { message: reason } = error as Error
      this.#log.warn('the list of databases cannot be written', { folder: this.#folder, reason })
    }
  }

  #refuseLost(name: DatabaseName): void {
    const state = this.#states.get(name)
    if (state === undefined) return
    const path = join(this.#folder, name)
    if (!existsSync(path)) throw lostDatabase(this.#folder, name, 'is missing')
    if (state === 'open' && !hasLog(path)) throw lostLog(this.#folder, name)
  }

  #write(): void {
    const path = join(this.#folder, DATABASE_LIST)
    const lines = [...this.#states].map(([name, state]) => `${name} ${state.padEnd(STATE_LENGTH)}`)
    const text = `${[HEAD, ...lines].join('\n')}\n`
    if (textOf(path)?.length !== text.length) return writeWholeFile(path, text)
    const file = openSync(path, 'r+')
    try {
      writeSync(file, text, 0)
    } finally {
      closeSync(file)
    }
  }
}

/** Reads the list. Undefined if there is no list. The list may have names that only other versions know. */
function readStates(folder: string): Map<string, State> | undefined {
  const path = join(folder, DATABASE_LIST)
  const text = textOf(path)
  if (text === undefined) return undefined
  const [head, ...lines] = text.split('\n').map((line) => line.trimEnd())
  if (head !== HEAD) throw unreadable(path, 'it does not begin as the server writes it')
  const states = new Map<string, State>()
  for (const line of lines) {
    if (line === '') continue
    const { name, state } = LINE.exec(line)?.groups ?? {}
    const known = STATES.find((one) => one === state)
    if (name === undefined || !known) throw unreadable(path, 'a line is not a name and open or closed')
    states.set(name, known)
  }
  return states
}

/**
 * The databases that must exist if there is no list. In a new folder there are none. In a folder of an older version, they are
 * the databases that exist. If a version with lists has opened one of the databases, all databases that this server uses must
 * exist.
 */
function presumedStates(folder: string, names: readonly DatabaseName[]): Map<string, State> {
  const has = (name: string): boolean => existsSync(join(folder, name))
  if (!isListed(folder)) return new Map(names.filter(has).map((name) => [name, 'closed']))
  return new Map(names.map((name) => [name, has(`${name}-shm`) ? 'open' : 'closed']))
}

/** True if a version of the service that keeps lists has opened one of the databases. */
function isListed(folder: string): boolean {
  return DATABASE_NAMES.some((name) => isMarked(join(folder, name)))
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw unreadable(path, code ?? 'unknown')
  }
}

function unreadable(path: string, reason: string): StartError {
  return new StartError(
    `${path} cannot be used (${reason}). It names the databases that the folder must have. Put a copy of it back, or, if all databases of the folder are there, remove it: the server then makes it again.`,
    EXIT.damagedData,
  )
}
