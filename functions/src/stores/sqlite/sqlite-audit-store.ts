import { isJsonObject, parsedJson } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'
import {
  erasedPlace,
  RECORDS_READ_MAX,
  pageOf,
  placeOf,
  type AuditPage,
  type AuditQuery,
} from '../../features/audit/audit-store.ts'
import type { AuditStore, PlacedText, RecordPlaces } from '../../features/audit/audit-store.ts'
import {
  AUDIT_KINDS,
  erasedText,
  firstPrev,
  hashOf,
  partsOf,
  prevOf,
  type ChainHead,
  type ChainName,
  type SealedRecord,
} from '../../features/audit/record.ts'
import { inTransaction, prepareAll, sqliteError } from './transaction.ts'
import { CHECKED_MANIFEST, CHECKED_TEXT } from './audit-file-lines.ts'
import { asPart } from '../../running-work.ts'
import { NewestLines } from './newest-lines.ts'
import { DatabaseFileError, fillLog, openDatabaseFile, type DatabaseKind } from './database-file.ts'

/**
 * The tables of the audit trail. As long as `opened` has a row, the present transaction may change records. Only two transactions
 * write this row: an erasure, and the removal of whole days.
 */
const SCHEMA = `
  CREATE TABLE writer (instance TEXT NOT NULL) STRICT;
  INSERT INTO writer VALUES ('local-' || lower(hex(randomblob(6))));
  CREATE TABLE records (
    day TEXT NOT NULL,
    instance TEXT NOT NULL,
    seq INTEGER NOT NULL,
    place TEXT NOT NULL,
    kind TEXT NOT NULL,
    uid TEXT NOT NULL,
    tool TEXT,
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (day, instance, seq)
  ) STRICT;
  CREATE INDEX records_by_place ON records (place);
  CREATE INDEX records_by_user ON records (uid, place);
  CREATE INDEX records_of_erasures ON records (place) WHERE kind = 'erasure';
  CREATE TABLE manifests (day TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE opened (yes INTEGER) STRICT;
  CREATE TRIGGER records_stay BEFORE DELETE ON records WHEN NOT EXISTS (SELECT 1 FROM opened) BEGIN
    SELECT RAISE(ABORT, 'audit records are only added');
  END;
  CREATE TRIGGER records_stay_the_same BEFORE UPDATE ON records WHEN NOT EXISTS (SELECT 1 FROM opened) BEGIN
    SELECT RAISE(ABORT, 'audit records are never changed');
  END;
  CREATE TRIGGER manifests_stay BEFORE DELETE ON manifests BEGIN
    SELECT RAISE(ABORT, 'manifests are only added');
  END;
  CREATE TRIGGER manifests_stay_the_same BEFORE UPDATE ON manifests BEGIN
    SELECT RAISE(ABORT, 'manifests are never changed');
  END;
`

const AUDIT: DatabaseKind = {
  // The application id is "TRau" in ASCII.
  applicationId: 0x54_52_61_75,
  schema: SCHEMA,
  // With secure_delete, erased and removed records are overwritten in the file.
  settings: 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;',
  // The records are not checked at the start, because they can have gigabytes. Their hashes are verified later.
  checkedTables: ['writer', 'manifests'],
}

const SQL = {
  add: 'INSERT INTO records (day, instance, seq, place, kind, uid, tool, outcome, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  newest: 'SELECT day, seq, text FROM records WHERE instance = ? ORDER BY day DESC, seq DESC LIMIT 1',
  // Each step of the recursion finds the next day or instance in the index. Reading all records would take long.
  days: `WITH RECURSIVE found(day) AS (SELECT min(day) FROM records UNION ALL
    SELECT (SELECT min(day) FROM records WHERE records.day > found.day) FROM found WHERE found.day < $before)
    SELECT day FROM found WHERE day < $before`,
  chains: `WITH RECURSIVE found(instance) AS (SELECT min(instance) FROM records WHERE day = $day UNION ALL
    SELECT (SELECT min(instance) FROM records WHERE day = $day AND records.instance > found.instance)
    FROM found WHERE found.instance IS NOT NULL)
    SELECT instance, (SELECT max(seq) FROM records WHERE day = $day AND records.instance = found.instance) AS seq
    FROM found WHERE instance IS NOT NULL`,
  one: 'SELECT text FROM records WHERE day = ? AND instance = ? AND seq = ?',
  texts: `SELECT ${CHECKED_TEXT} FROM records WHERE day = ? AND instance = ? AND seq > ? ORDER BY seq LIMIT ?`,
  pageOfAll:
    'SELECT place, tool, outcome, text FROM records WHERE place < ? AND place >= ? ORDER BY place DESC LIMIT ?',
  pageOfUser:
    'SELECT place, tool, outcome, text FROM records WHERE uid = ? AND place < ? AND place >= ? ORDER BY place DESC LIMIT ?',
  manifests: `SELECT ${CHECKED_MANIFEST} FROM manifests ORDER BY day`,
  count: 'SELECT count(*) AS count FROM records',
  countOfDay: 'SELECT count(*) AS count FROM records WHERE day = ?',
  keepManifest: 'INSERT OR IGNORE INTO manifests VALUES (?, ?)',
  ofUser: `SELECT day, instance, seq FROM records WHERE uid = ? AND kind NOT IN ('erasure', 'retention') ORDER BY day, instance, seq`,
  erasures: `SELECT text FROM records WHERE kind = 'erasure' ORDER BY place`,
  empty: `UPDATE records SET kind = 'erased', uid = '', tool = NULL, outcome = '', place = ?, text = ?
    WHERE day = ? AND instance = ? AND seq = ?`,
  remove: 'DELETE FROM records WHERE day < ?',
  open: 'INSERT INTO opened VALUES (1)',
  shut: 'DELETE FROM opened',
} as const

/** A text that sorts after every position of a record. */
const NO_END = '~'

/**
 * The most records that wait for the database. Above this, the database has refused them for a long time, and the trail must
 * learn that.
 */
const WAITING_MAX = 1_000

/**
 * The audit trail in a separate database file. `append` adds records to a second file (`NewestLines`). A moment later, the records
 * of all calls that have ended meanwhile become rows of the database in one commit (synchronous NORMAL). If the process is killed,
 * nothing is lost. A power cut may lose the last records. Triggers refuse every change of a row.
 */
export class SqliteAuditStore implements AuditStore {
  readonly isImmediate = true
  readonly instance: string
  readonly #database: DatabaseSync
  readonly #sql: ReturnType<typeof prepareAll<keyof typeof SQL>>
  /** Undefined for a database in memory. */
  readonly #newest: NewestLines | undefined
  /** The records that are not in the database yet, the oldest first. */
  #waiting: SealedRecord[] = []
  /** The newest record of this instance. Null if there is none. */
  #last: ChainHead | null
  #timer: NodeJS.Timeout | undefined

  constructor(path: string) {
    this.#database = openDatabaseFile(path, AUDIT)
    let newest: NewestLines | undefined
    try {
      this.instance = instanceIn(this.#database)
      this.#sql = prepareAll(this.#database, SQL)
      this.#last = this.#newestRow()
      newest = path === ':memory:' ? undefined : new NewestLines(path, (text) => this.#takesLeft(text))
      this.#newest = newest
      this.#moveIfPossible()
      if (this.#waiting.length === 0) this.#newest?.wipe()
    } catch (error) {
      newest?.close()
      this.#database.close()
      throw error
    }
  }

  head = async (): Promise<ChainHead | undefined> => {
    await Promise.resolve()
    this.#moveIfPossible()
    if (this.#waiting.length === 0) this.#last = this.#newestRow()
    return this.#last ?? undefined
  }

  append = (records: readonly SealedRecord[]): Promise<void> => {
    try {
      if (!this.#areLines(records)) {
        this.#move()
        inTransaction(this.#database, 'IMMEDIATE', () => records.forEach((record) => this.#add(record)))
      }
      this.#last = records.at(-1) ?? this.#last
      return WRITTEN
    } catch (error) {
      return Promise.reject(sqliteError(error))
    }
  }

  page = async ({
    uid,
    tool,
    outcome,
    since = '',
    until = NO_END,
    limit,
    before,
  }: AuditQuery): Promise<AuditPage> => {
    await Promise.resolve()
    const end = before !== undefined && before < until ? before : until
    this.#moveIfPossible()
    const isPicked = tool !== undefined || outcome !== undefined
    const most = isPicked ? RECORDS_READ_MAX : limit + 1
    const { pageOfAll, pageOfUser } = this.#sql
    const rows = (
      uid === undefined ? pageOfAll.all(end, since, most) : pageOfUser.all(uid, end, since, most)
    ) as PlacedText[]
    return pageOf(rows, { tool, outcome, limit }, rows.length === most)
  }

  days = async (before = NO_END): Promise<readonly string[]> => {
    await Promise.resolve()
    this.#moveIfPossible()
    return this.#sql.days.all({ before }).map((row) => String(row['day']))
  }

  count = async (day?: string): Promise<number> => {
    await Promise.resolve()
    this.#moveIfPossible()
    const { count, countOfDay } = this.#sql
    return Number((day === undefined ? count.get() : countOfDay.get(day))?.['count'])
  }

  chains = async (day: string): Promise<readonly ChainHead[]> => {
    await Promise.resolve()
    this.#moveIfPossible()
    const rows = this.#sql.chains.all({ day }) as { instance: string; seq: number }[]
    return rows.map(({ instance, seq }) => {
      const { text } = this.#sql.one.get(day, instance, seq) as { text: string }
      return { instance, day, seq, hash: hashIn(text) }
    })
  }

  texts = async ({ instance, day }: ChainName, seq: number, limit: number): Promise<readonly string[]> => {
    await Promise.resolve()
    this.#moveIfPossible()
    return this.#sql.texts.all(day, instance, seq, limit).map((row) => String(row['text']))
  }

  manifests = async (): Promise<readonly string[]> => {
    await Promise.resolve()
    return this.#sql.manifests.all().map((row) => String(row['text']))
  }

  keepManifest = async (day: string, text: string): Promise<void> => {
    await Promise.resolve()
    this.#sql.keepManifest.run(day, text)
  }

  placesOf = async (uid: string): Promise<readonly RecordPlaces[]> => {
    await Promise.resolve()
    this.#moveOrThrow()
    const places = new Map<string, ChainName & { seqs: number[] }>()
    for (const row of this.#sql.ofUser.all(uid) as { day: string; instance: string; seq: number }[]) {
      const { day, instance, seq } = row
      const chain = places.get(`${instance}/${day}`) ?? { day, instance, seqs: [] }
      places.set(`${instance}/${day}`, chain)
      chain.seqs.push(seq)
    }
    return [...places.values()]
  }

  erase = async ({ instance, day, seqs }: RecordPlaces): Promise<void> => {
    await Promise.resolve()
    this.#moveOrThrow()
    this.#opened(() => {
      for (const seq of seqs) {
        const row = this.#sql.one.get(day, instance, seq) as { text: string } | undefined
        if (row === undefined) continue
        const place = { instance, day, seq }
        const text = erasedText({ ...place, hash: hashIn(row.text) }, prevOf(row.text))
        this.#sql.empty.run(erasedPlace(place), text, day, instance, seq)
      }
    })
    // The write-ahead log still has the old content, so it is emptied.
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    fillLog(this.#database)
    this.#newest?.wipe()
  }

  erasures = async (): Promise<readonly string[]> => {
    await Promise.resolve()
    this.#moveIfPossible()
    return this.#sql.erasures.all().map((row) => String(row['text']))
  }

  removeBefore = async (day: string): Promise<void> => {
    if ((await this.days(day)).length === 0) return
    this.#moveOrThrow()
    this.#opened(() => this.#sql.remove.run(day))
    this.#newest?.wipe()
  }

  close = (): Promise<void> => {
    this.#moveIfPossible()
    if (this.#waiting.length === 0) this.#newest?.wipe()
    this.#newest?.close()
    this.#database.close()
    return Promise.resolve()
  }

  /** Adds records as lines. Returns false if they do not continue the chain, or if the file or the database cannot take them. */
  #areLines(records: readonly SealedRecord[]): boolean {
    if (!this.#newest || this.#waiting.length >= WAITING_MAX) return false
    if (!records.every((record, index) => this.#isNext(record, records[index - 1]))) return false
    if (!this.#newest.add(...records.map(({ text }) => text))) return false
    this.#waiting.push(...records)
    this.#timer ??= setTimeout(() => asPart('the audit trail', () => this.#moveIfPossible()), MOVE_MS)
    return true
  }

  /** Takes a line that a killed process has left. Returns false if it is not exactly the next record of the chain. */
  #takesLeft(text: string): boolean {
    const record = recordIn(text)
    if (!record || !this.#isNext(record) || prevOf(text) !== prevAfter(this.#last, record)) return false
    this.#waiting.push(record)
    this.#last = record
    return true
  }

  /** True if the record comes next in the newest chain of this instance, or is the first one of a later day. */
  #isNext({ instance, day, seq }: SealedRecord, last: ChainHead | null = this.#last): boolean {
    if (instance !== this.instance) return false
    return last?.day === day ? seq === last.seq + 1 : seq === 1 && day > (last?.day ?? '')
  }

  /** Makes rows of the waiting records. If the database cannot take them now, they go on waiting. */
  #moveIfPossible(): void {
    try {
      this.#move()
    } catch {
      // The records stay in their file. `append` throws the reason when too many records wait.
    }
  }

  #moveOrThrow(): void {
    try {
      this.#move()
    } catch (error) {
      throw sqliteError(error)
    }
  }

  #move(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const [first, ...more] = this.#waiting
    if (!first) return
    // One statement is a transaction by itself.
    if (more.length === 0) this.#add(first)
    else
      inTransaction(this.#database, 'IMMEDIATE', () => this.#waiting.forEach((record) => this.#add(record)))
    this.#waiting = []
    this.#newest?.clear()
  }

  #newestRow(): ChainHead | null {
    const row = this.#sql.newest.get(this.instance) as { day: string; seq: number; text: string } | undefined
    return row ? { instance: this.instance, day: row.day, seq: row.seq, hash: hashIn(row.text) } : null
  }

  #add(record: SealedRecord): void {
    const { day, instance, seq, kind, uid, tool, outcome, text } = record
    this.#sql.add.run(day, instance, seq, placeOf(record), kind, uid, tool, outcome, text)
  }

  #opened(act: () => unknown): void {
    inTransaction(this.#database, 'IMMEDIATE', () => {
      this.#sql.open.run()
      act()
      this.#sql.shut.run()
    })
  }
}

const WRITTEN = Promise.resolve()

/** How long records wait for others before they become rows, in milliseconds. Their calls are answered in this time. */
const MOVE_MS = 10

/**
 * The record whose text a killed process has left. Undefined if its content does not have its hash, or if the database would not
 * take it as a row. Such a line would stop all records after it.
 */
function recordIn(text: string): SealedRecord | undefined {
  const record = parsedJson(text)
  const parts = partsOf(text)
  if (!isJsonObject(record) || !parts || hashOf(prevOf(text), parts.body) !== parts.hash) return undefined
  const { instance, day, seq, kind: name, at, tool, outcome, principal } = record
  const kind = AUDIT_KINDS.find((one) => one === name)
  const uid = isJsonObject(principal) ? principal['uid'] : undefined
  if (typeof instance !== 'string' || typeof day !== 'string' || typeof seq !== 'number') return undefined
  if (!kind || typeof at !== 'string' || typeof uid !== 'string') return undefined
  if ((tool !== null && typeof tool !== 'string') || typeof outcome !== 'string') return undefined
  return { instance, day, seq, hash: parts.hash, kind, at, tool, outcome, uid, text }
}

/** The `prev` of the record that comes after `last`. */
function prevAfter(last: ChainHead | null, { instance, day }: ChainName): string {
  return last?.day === day ? last.hash : firstPrev({ instance, day })
}

/**
 * The hash of a record, or an empty text for a damaged record. The chain then continues from the empty text, and a verification
 * names the record.
 */
function hashIn(text: string): string {
  return partsOf(text)?.hash ?? ''
}

function instanceIn(database: DatabaseSync): string {
  const row = database.prepare('SELECT instance FROM writer').get()
  if (!row) throw new DatabaseFileError('is a database without the name of its writer')
  return String(row['instance'])
}
