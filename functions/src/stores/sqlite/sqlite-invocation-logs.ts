import { isJsonObject, parsedJson } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'
import { factsText, keptCall, LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/invocation-logs.ts'
import type { PrintedLog } from '../../catalog/definitions/runner.ts'
import type {
  CallsQuery,
  FoundCall,
  InvocationLog,
  InvocationLogs,
  LogBounds,
} from '../../calls/invocation-logs.ts'
import { openWith } from './database-file.ts'
import { NewestLines } from './newest-lines.ts'
import { asPart } from '../../running-work.ts'
import { inTransaction, isFull, prepareAll, tablesVersion } from './transaction.ts'

/** The version of the tables. The calls in a file of an older version are lost, because a call is kept only for a day. */
const SCHEMA_VERSION = 2

/**
 * The tables of the logs. The calls are ordered by `at` and `id`. Pages have this order, and the oldest calls are removed first.
 * `text` is the last column, so that reading a page of calls does not read their printed lines.
 */
const SCHEMA = `
  CREATE TABLE logs (
    number INTEGER PRIMARY KEY,
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    at TEXT NOT NULL,
    kept_until INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    tool TEXT,
    code TEXT,
    workflow TEXT,
    facts TEXT NOT NULL,
    truncated INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (uid, id)
  ) STRICT;
  CREATE INDEX logs_by_end ON logs (kept_until);
  CREATE INDEX logs_by_time ON logs (uid, at, id);
  CREATE TABLE user_sums (
    uid TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX users_by_sum ON user_sums (bytes);
  CREATE TABLE whole_sum (bytes INTEGER NOT NULL) STRICT;
  INSERT INTO whole_sum VALUES (0);
  CREATE TRIGGER log_came AFTER INSERT ON logs BEGIN
    INSERT INTO user_sums VALUES (NEW.uid, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
    UPDATE whole_sum SET bytes = bytes + NEW.bytes;
  END;
  CREATE TRIGGER log_went AFTER DELETE ON logs BEGIN
    UPDATE user_sums SET bytes = bytes - OLD.bytes WHERE uid = OLD.uid;
    DELETE FROM user_sums WHERE uid = OLD.uid AND bytes = 0;
    UPDATE whole_sum SET bytes = bytes - OLD.bytes;
  END;
`

/**
 * The bytes of the journal: twice the longest one in a measurement, which had 64 KB. In the measurement, a log was added or
 * removed a thousand times.
 */
const JOURNAL_BYTES = 128 * 1024

/**
 * Makes the journal as long as it will ever be. SQLite writes all pages of an overwritten row to the journal. Afterwards these
 * pages are freed.
 */
const LENGTHEN_JOURNAL = `
  CREATE TABLE journal_room (bytes BLOB) STRICT;
  INSERT INTO journal_room VALUES (zeroblob(${JOURNAL_BYTES}));
  UPDATE journal_room SET bytes = randomblob(${JOURNAL_BYTES});
  DROP TABLE journal_room;
`

const SQL = {
  // A killed process may have left a call that is already in the database.
  keep: `INSERT OR IGNORE INTO logs (uid, id, at, kept_until, bytes, tool, code, workflow, facts, truncated, text)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  find: 'SELECT facts, text, truncated FROM logs WHERE uid = ? AND id = ? AND kept_until > ?',
  page: `SELECT facts FROM logs WHERE uid = $uid AND at >= $since AND (at, id) < ($at, $id) AND kept_until > $now
    AND ($tool IS NULL OR tool = $tool) AND ($code IS NULL OR code = $code) AND ($workflow IS NULL OR workflow = $workflow)
    AND ($isFailure IS NULL OR $isFailure = (code IS NOT NULL)) ORDER BY at DESC, id DESC LIMIT $limit`,
  forget: 'DELETE FROM logs WHERE kept_until <= ?',
  dropOldest: `DELETE FROM logs WHERE number = (SELECT number FROM logs WHERE uid = ? ORDER BY at, id LIMIT 1)
    RETURNING bytes`,
  userSum: 'SELECT bytes FROM user_sums WHERE uid = ?',
  wholeSum: 'SELECT bytes FROM whole_sum',
  userWithMost: 'SELECT uid FROM user_sums ORDER BY bytes DESC LIMIT 1',
} as const

type Row = { readonly facts: string; readonly text: string; readonly truncated: number }

/** A text that sorts after every time. */
const AFTER_ALL = '~'

/**
 * How many bytes of calls wait for one transaction, as `logBytes` counts them: about seventy calls that print nothing. For each of
 * them, a common transaction takes a tenth of the time of a transaction of its own.
 */
const TOGETHER_BYTES = 64 * 1024
/** A call with more bytes than these is written into the database at once, so that its text is not written twice. */
const ALONE_BYTES = 8 * 1024

/** A call that is kept for its user. `facts` is its `factsText`, which is made only once. */
type NewCall = {
  readonly uid: string
  readonly call: InvocationLog
  readonly facts: string
  /** The time until which the call is kept, in milliseconds since 1970. */
  readonly untilMs: number
}

/**
 * The calls of the last day with their logs, in a database of their own. No call waits for the disk, so a power cut may lose the
 * last logs. New logs use the pages of removed logs, so the file is not much larger than the bound for all logs.
 *
 * A call is kept as a line in a second file (`NewestLines`). Before a read, all lines become rows of the database.
 */
export class SqliteInvocationLogs implements InvocationLogs {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>
  readonly #newest: NewestLines
  readonly #now: () => number
  readonly #bounds: LogBounds
  /** The calls that are not in the database yet, the oldest first. */
  #waiting: NewCall[]
  #waitingBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    path: string,
    { bounds = LOG_BOUNDS, now = Date.now }: { bounds?: LogBounds; now?: () => number } = {},
  ) {
    this.#now = now
    this.#bounds = bounds
    this.#database = openWith(path, makeLogTables)
    this.#statements = prepareAll(this.#database, SQL)
    this.#newest = new NewestLines(path)
    this.#waiting = this.#newest.left.flatMap((text) => callIn(text) ?? [])
    this.#moveIfPossible()
  }

  keep = (uid: string, call: InvocationLog): Promise<void> => {
    try {
      this.#keep(uid, call)
      return KEPT
    } catch (error) {
      return Promise.reject(error)
    }
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    await Promise.resolve()
    this.#moveIfPossible()
    const row = this.#statements.find.get(uid, invocationId, this.#now()) as Row | undefined
    return row && keptCall(row.facts, { text: row.text, truncated: row.truncated === 1 })
  }

  page = async (uid: string, query: CallsQuery): Promise<readonly FoundCall[]> => {
    await Promise.resolve()
    this.#moveIfPossible()
    const { tool = null, outcome, workflow = null, since = '', before, limit } = query
    const isWhole = outcome === 'success' || outcome === 'failure'
    const rows = this.#statements.page.all({
      uid,
      since,
      at: before?.at ?? AFTER_ALL,
      id: before?.invocationId ?? '',
      now: this.#now(),
      tool,
      workflow,
      code: isWhole ? null : (outcome ?? null),
      isFailure: isWhole ? Number(outcome === 'failure') : null,
      limit,
    }) as Pick<Row, 'facts'>[]
    return rows.map(({ facts }) => JSON.parse(facts) as FoundCall)
  }

  close = (): Promise<void> => {
    this.#moveIfPossible()
    if (this.#waiting.length === 0) this.#newest.wipe()
    this.#newest.close()
    this.#database.close()
    return Promise.resolve()
  }

  #keep(uid: string, call: InvocationLog): void {
    // The last attempts to move the calls have failed. This attempt throws the reason.
    if (this.#waitingBytes > 2 * TOGETHER_BYTES) this.#move()
    const facts = factsText(call)
    const bytes = logBytes(call, facts)
    const kept = { uid, call, facts, untilMs: this.#now() + LOG_KEPT_MS }
    const isLine = bytes <= ALONE_BYTES && this.#newest.add(textOf(kept))
    this.#waiting.push(kept)
    this.#waitingBytes += bytes
    if (!isLine) this.#move()
    else if (this.#waitingBytes > TOGETHER_BYTES) this.#moveSoon()
  }

  /** Moves the waiting calls into the database when this call has been answered. */
  #moveSoon(): void {
    this.#timer ??= setTimeout(() => asPart('the calls of the last day', () => this.#moveIfPossible()), 1)
  }

  /** Moves the waiting calls into the database, unless it cannot take them now. Then they go on waiting. */
  #moveIfPossible(): void {
    try {
      this.#move()
    } catch {
      // `keep` throws the reason when too many calls wait.
    }
  }

  /** Moves the waiting calls into the database. If it throws, the remaining calls go on waiting. */
  #move(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.length === 0) return
    try {
      inTransaction(this.#database, 'IMMEDIATE', () => this.#addAll(this.#waiting))
      this.#moved(this.#waiting.length)
    } catch (error) {
      if (!isFull(error)) throw error
      // The journal of a transaction with one call needs no room on the disk.
      while (this.#waiting.length > 0) {
        this.#moveFirst()
        this.#moved(1)
      }
    }
  }

  #moved(count: number): void {
    this.#waiting.splice(0, count)
    this.#waitingBytes = this.#waiting.reduce((sum, { call, facts }) => sum + logBytes(call, facts), 0)
    if (this.#waiting.length === 0) this.#newest.clear()
  }

  /** Moves the oldest waiting call. If the disk is full, other calls are dropped for it. */
  #moveFirst(): void {
    const [first] = this.#waiting
    if (!first) return
    for (;;) {
      try {
        return inTransaction(this.#database, 'IMMEDIATE', () => this.#addAll([first]))
      } catch (error) {
        if (!isFull(error) || !this.#makeRoom(logBytes(first.call, first.facts))) throw error
      }
    }
  }

  #addAll(calls: readonly NewCall[]): void {
    const nowMs = this.#now()
    this.#statements.forget.run(nowMs)
    for (const call of calls) if (call.untilMs > nowMs) this.#add(call)
  }

  #add({ uid, call, facts, untilMs }: NewCall): void {
    const { keep, dropOldest, userSum, wholeSum } = this.#statements
    const { invocationId, at, tool, code, workflow } = call
    const { text, truncated } = call.log ?? { text: '', truncated: false }
    const bytes = logBytes(call, facts)
    // Old logs are removed first, so that the new one can use their pages.
    while (sum(userSum.get(uid)) + bytes > this.#bounds.userBytes && dropOldest.get(uid)) continue
    while (sum(wholeSum.get()) + bytes > this.#bounds.allBytes && this.#dropOfMost() > 0) continue
    keep.run(uid, invocationId, at, untilMs, bytes, tool, code, workflow, facts, Number(truncated), text)
  }

  /** Drops the oldest log of the user with the most bytes of logs. Returns the bytes of this log, or 0 if there is no log. */
  #dropOfMost(): number {
    const { userWithMost, dropOldest } = this.#statements
    const user = userWithMost.get() as { uid: string } | undefined
    return user ? sum(dropOldest.get(user.uid)) : 0
  }

  /**
   * Drops logs with at least `bytes` bytes together when the disk is full, each log in its own transaction. Returns false if
   * there was none.
   */
  #makeRoom(bytes: number): boolean {
    let dropped = 0
    while (dropped < bytes) {
      const more = inTransaction(this.#database, 'IMMEDIATE', () => this.#dropOfMost())
      if (more === 0) break
      dropped += more
    }
    return dropped > 0
  }
}

const KEPT = Promise.resolve()

function textOf({ uid, call: { log }, facts, untilMs }: NewCall): string {
  const printed = log === null ? '' : `,"log":${JSON.stringify(log)}`
  return `{"uid":${JSON.stringify(uid)},"until":${untilMs},"facts":${facts}${printed}}`
}

/** Reads the text of a call that a killed process has left. Undefined for a damaged line, which would stop the whole history. */
function callIn(text: string): NewCall | undefined {
  const line = parsedJson(text)
  if (!isJsonObject(line) || !isJsonObject(line['facts'])) return undefined
  const { uid, until, facts, log } = line
  const isWhole = Object.entries(IS_RIGHT).every(([name, isRight]) => isRight(facts[name]))
  if (typeof uid !== 'string' || !Number.isSafeInteger(until) || !isWhole) return undefined
  if (facts['hasLog'] === true ? !isPrinted(log) : log !== undefined) return undefined
  const call = keptCall(JSON.stringify(facts), isPrinted(log) ? log : { text: '', truncated: false })
  return { uid, call, facts: factsText(call), untilMs: Number(until) }
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNull = (value: unknown): boolean => value === null || isText(value)
const isObjectOrNull = (value: unknown): boolean => value === null || isJsonObject(value)
const isFlag = (value: unknown): boolean => typeof value === 'boolean'

/** Tells of each fact of a call whether a value has its type. */
const IS_RIGHT: Readonly<Record<keyof FoundCall, (value: unknown) => boolean>> = {
  invocationId: isText,
  parentInvocationId: isTextOrNull,
  tool: isTextOrNull,
  digest: isTextOrNull,
  revision: isTextOrNull,
  at: isText,
  durationMs: (value) => typeof value === 'number',
  outcome: (value) => value === 'success' || value === 'failure',
  code: isTextOrNull,
  isolation: isTextOrNull,
  usage: isObjectOrNull,
  replayed: isFlag,
  dryRun: isFlag,
  workflow: isTextOrNull,
  decision: isObjectOrNull,
  artifacts: (value) => value === undefined || (Array.isArray(value) && value.every(isText)),
  hasLog: isFlag,
}

function isPrinted(log: unknown): log is PrintedLog {
  return isJsonObject(log) && isText(log['text']) && isFlag(log['truncated'])
}

function sum(row: unknown): number {
  return (row as { bytes: number } | undefined)?.bytes ?? 0
}

/**
 * Makes the tables in a new file. The journal keeps its length and is overwritten each time, so that logs can be removed and
 * added even on a full disk. A write-ahead log, or a new journal for each transaction, would need room on the disk. Throws if
 * another version of the service has made the file.
 */
function makeLogTables(database: DatabaseSync): void {
  database.exec(
    `PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = ${JOURNAL_BYTES}; PRAGMA synchronous = OFF;`,
  )
  if (tablesVersion(database) !== SCHEMA_VERSION) {
    if (database.prepare('SELECT name FROM sqlite_schema').get())
      throw new Error('the file is of another version')
    database.exec(LENGTHEN_JOURNAL)
    database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`)
  }
}
