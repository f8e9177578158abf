import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { put, type Collection, type Planned, type Ref, type Write } from '../../documents/collection.ts'
import {
  Kept,
  type Documents,
  type Found,
  type ListOptions,
  type Version,
} from '../../documents/documents.ts'
import {
  checkRef,
  fitting,
  foundOf,
  indexOf,
  isCounted,
  stored,
  unexpired,
  versionsOf,
  type StoredDocument,
} from '../../documents/stored-document.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

/** The most expired documents that one change erases, so that each change takes little time. */
const ERASED_AT_ONCE = 100
/** The fewest milliseconds between two changes that erase expired documents. */
const ERASE_MS = 1_000

const ROW = 'number, documents.text, version, bytes, place, expires_at AS expiresAtMs'
const OF_KEY = 'documents.collection = ? AND documents.owner = ? AND key = ?'

const SQL = {
  find: `SELECT ${ROW} FROM documents WHERE ${OF_KEY}`,
  findWhole: `SELECT documents.${ROW}, document_bodies.text AS body FROM documents
    LEFT JOIN document_bodies ON document = documents.number WHERE ${OF_KEY}`,
  past: 'SELECT text FROM document_versions WHERE document = ?',
  add: `INSERT INTO documents (text, version, bytes, collection, owner, key, place, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  change: 'UPDATE documents SET text = ?, version = ?, bytes = ? WHERE number = ?',
  // Unlike the statement `change`, this one also updates indexes, so it takes longer.
  move: 'UPDATE documents SET place = ?, expires_at = ? WHERE number = ?',
  putBody: 'INSERT OR REPLACE INTO document_bodies (document, collection, owner, text) VALUES (?, ?, ?, ?)',
  dropBody: 'DELETE FROM document_bodies WHERE document = ?',
  putPast: 'INSERT OR REPLACE INTO document_versions VALUES (?, ?)',
  dropPast: 'DELETE FROM document_versions WHERE document = ?',
  remove: 'DELETE FROM documents WHERE number = ?',
  erase: `DELETE FROM documents WHERE number IN
    (SELECT number FROM documents WHERE expires_at <= ? ORDER BY expires_at LIMIT ${ERASED_AT_ONCE})`,
  sums: 'SELECT count, bytes FROM document_sums WHERE collection = ? AND owner = ?',
  allBytes: 'SELECT bytes FROM collection_sums WHERE collection = ?',
  ownerWithMost: 'SELECT owner FROM document_sums WHERE collection = ? ORDER BY bytes DESC LIMIT 1',
  dropOldest: `DELETE FROM document_bodies WHERE number =
    (SELECT number FROM document_bodies WHERE collection = ? AND owner = ? ORDER BY number LIMIT 1) RETURNING document`,
  uncount: 'UPDATE documents SET bytes = 0 WHERE number = ?',
} as const

type Row = Omit<StoredDocument, 'body'> & { readonly number: number; readonly body?: string | null }

type ListedRow = Row & { readonly key: string }

/**
 * The row of a document, and the document as it was before the change. A document that has expired still has a row, but `before`
 * is undefined.
 */
type Seen = { readonly row: Row | undefined; readonly before: StoredDocument | undefined }

type Options = {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly busyWaitMs?: number
}

/** The documents of all features in the embedded database that `openGovernance` opens. */
export class SqliteDocuments implements Documents {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>
  readonly #lists = new Map<string, StatementSync>()
  readonly #now: () => number
  readonly #busyWaitMs: number | undefined
  #erasedAtMs = -Infinity

  constructor(database: DatabaseSync, { now = Date.now, busyWaitMs }: Options = {}) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
    this.#now = now
    this.#busyWaitMs = busyWaitMs
  }

  read = async <const Refs extends readonly Ref[]>(owner: string, refs: Refs): Promise<Found<Refs>> =>
    this.#guarded(() => this.#found(owner, refs, this.#now())[0])

  list = async <Fields extends object>(
    owner: string,
    of: Collection<Fields>,
    { limit, order, equal, after }: ListOptions,
  ): Promise<readonly Kept<Fields>[]> =>
    this.#guarded(() => {
      const given = [...(equal === undefined ? [] : [equal]), ...(after === undefined ? [] : [after])]
      const statement = this.#list(order, equal !== undefined, after !== undefined)
      const rows = statement.all(of.name, owner, this.#now(), ...given, limit)
      return (rows as unknown as readonly ListedRow[]).map(
        (row) => new Kept({ of, key: row.key }, plain(row)),
      )
    })

  change = <const Refs extends readonly Ref[], Result>(
    owner: string,
    refs: Refs,
    plan: (found: Found<Refs>) => Planned<Result>,
  ): Promise<Result> =>
    this.#write((nowMs) => {
      const [found, seen] = this.#found(owner, refs, nowMs)
      const { result, writes = [] } = plan(found)
      for (const write of writes) {
        this.#apply(owner, write, seen[indexOf(refs, write)] ?? this.#seen(owner, write.to, nowMs))
      }
      return result
    })

  claim = <Fields extends object>(
    owner: string,
    to: Ref<Fields>,
    fields: Fields,
  ): Promise<Kept<Fields> | undefined> =>
    this.#write((nowMs) => {
      const [[kept], [seen]] = this.#found(owner, [to], nowMs)
      if (!kept && seen) this.#apply(owner, put(to, fields), seen)
      return kept
    })

  history = async <Fields extends object>(
    owner: string,
    of: Ref<Fields>,
  ): Promise<readonly Version<Fields>[]> =>
    this.#guarded(() => {
      const [[kept], [seen]] = this.#found(owner, [of], this.#now())
      return kept && seen?.row ? versionsOf(of.of, kept, this.#past(seen.row)) : []
    })

  #write<Result>(act: (nowMs: number) => Result): Promise<Result> {
    return inTransactionWhenFree(
      this.#database,
      'IMMEDIATE',
      () => {
        const nowMs = this.#now()
        this.#erase(nowMs)
        return act(nowMs)
      },
      this.#busyWaitMs,
    )
  }

  /** Erases expired documents. If there were no more of them the last time, waits until a second has passed. */
  #erase(nowMs: number): void {
    // If the clock was set back, the difference is negative. So its absolute value is compared.
    if (Math.abs(nowMs - this.#erasedAtMs) < ERASE_MS) return
    const { changes } = this.#statements.erase.run(nowMs)
    this.#erasedAtMs = Number(changes) < ERASED_AT_ONCE ? nowMs : -Infinity
  }

  #found<const Refs extends readonly Ref[]>(
    owner: string,
    refs: Refs,
    nowMs: number,
  ): readonly [Found<Refs>, readonly Seen[]] {
    const seen = refs.map((ref) => this.#seen(owner, ref, nowMs))
    const documents = seen.map(({ before }) => before)
    return [foundOf(refs, documents), seen]
  }

  #seen(owner: string, ref: Ref, nowMs: number): Seen {
    checkRef(owner, ref)
    const { find, findWhole } = this.#statements
    const { name, hasBody = false } = ref.of
    const row = (hasBody ? findWhole : find).get(name, owner, ref.key) as Row | undefined
    return { row, before: unexpired(row && plain(row), nowMs) }
  }

  #past({ number }: Row): string | undefined {
    return (this.#statements.past.get(number) as { readonly text: string } | undefined)?.text
  }

  #apply(owner: string, write: Write, { row, before }: Seen): void {
    const { of, key } = write.to
    const statements = this.#statements
    if (!write.fields) return void (row && statements.remove.run(row.number))
    const past = of.versions !== undefined && row && before ? this.#past(row) : undefined
    const planned = stored(write, before && { ...before, past })
    const isFull = isCounted(of, before, planned)
    const next = isFull ? fitting(of, before, planned, this.#sums(of.name, owner)) : planned
    if (next.body !== undefined) this.#makeRoom(of, owner, next.bytes - (row?.bytes ?? 0))
    const number = this.#put([of.name, owner, key], next, row)
    if (next.body !== undefined) statements.putBody.run(number, of.name, owner, next.body)
    else if (typeof row?.body === 'string') statements.dropBody.run(number)
    if (next.past !== undefined) statements.putPast.run(number, next.past)
    else if (of.versions !== undefined && row) statements.dropPast.run(number)
  }

  /** Writes the row of a document. Returns its number. */
  #put(
    place: readonly [string, string, string],
    next: StoredDocument,
    row: Row | undefined,
  ): number | bigint {
    const { add, change, move } = this.#statements
    const head = [next.text, next.version, next.bytes] as const
    if (!row) return add.run(...head, ...place, next.place, next.expiresAtMs).lastInsertRowid
    change.run(...head, row.number)
    if (row.place !== next.place || row.expiresAtMs !== next.expiresAtMs)
      move.run(next.place, next.expiresAtMs, row.number)
    return row.number
  }

  /**
   * Makes room for a new body, if the collection may drop its oldest bodies. First drops bodies of the same owner, and then those
   * of the owner with the most bytes.
   */
  #makeRoom({ name, quota = {} }: Collection, owner: string, more: number): void {
    const { bytes: ownMax = Infinity, dropsOldest } = quota
    if (!dropsOldest) return
    const { allBytes, ownerWithMost } = this.#statements
    while (this.#sums(name, owner).bytes + more > ownMax && this.#dropOldest(name, owner)) continue
    while (bytesIn(allBytes.get(name)) + more > dropsOldest.allBytes) {
      const most = ownerWithMost.get(name) as { readonly owner: string } | undefined
      if (!most || !this.#dropOldest(name, most.owner)) return
    }
  }

  #dropOldest(collection: string, owner: string): boolean {
    const { dropOldest, uncount } = this.#statements
    const dropped = dropOldest.get(collection, owner) as { readonly document: number } | undefined
    if (dropped) uncount.run(dropped.document)
    return dropped !== undefined
  }

  #sums(collection: string, owner: string): { readonly count: number; readonly bytes: number } {
    const sums = this.#statements.sums.get(collection, owner)
    return (sums as { count: number; bytes: number } | undefined) ?? { count: 0, bytes: 0 }
  }

  #list(order: ListOptions['order'], isEqual: boolean, isAfter: boolean): StatementSync {
    const conditions = `${order ? ' AND place IS NOT NULL' : ''}${isEqual ? ' AND place = ?' : ''}${isAfter ? ' AND key > ?' : ''}`
    const direction = order === 'desc' ? ' DESC' : ''
    const by = order ? `place${direction}, key${direction}` : 'key'
    const sql = `SELECT key, ${ROW} FROM documents WHERE collection = ? AND owner = ?
      AND (expires_at IS NULL OR expires_at > ?)${conditions} ORDER BY ${by} LIMIT ?`
    const prepared = this.#lists.get(sql) ?? this.#database.prepare(sql)
    this.#lists.set(sql, prepared)
    return prepared
  }

  #guarded<Result>(act: () => Result): Result {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error)
    }
  }
}

function plain({ body, ...row }: Row): StoredDocument {
  return typeof body === 'string' ? { ...row, body } : row
}

function bytesIn(row: unknown): number {
  return (row as { readonly bytes: number } | undefined)?.bytes ?? 0
}
