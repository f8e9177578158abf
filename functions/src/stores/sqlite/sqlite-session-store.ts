import type { DatabaseSync } from 'node:sqlite'
import { endOf, type Session, type SessionHead } from '../../features/sessions/session.ts'
import {
  headIn,
  refuseFull,
  SESSION_BOUNDS,
  sessionBytes,
  sessionIn,
  sessionTexts,
  type PlannedSession,
  type SessionStore,
  type SessionSums,
} from '../../features/sessions/session-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  read: 'SELECT head, tools, bytes FROM sessions WHERE uid = ? AND id = ?',
  page: 'SELECT head FROM sessions WHERE uid = ? AND id > ? ORDER BY id LIMIT ?',
  put: `INSERT INTO sessions (uid, id, head, tools, bytes, erase_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET head = excluded.head, tools = excluded.tools, bytes = excluded.bytes,
      erase_at = excluded.erase_at`,
  drop: 'DELETE FROM sessions WHERE uid = ? AND id = ?',
  erase: 'DELETE FROM sessions WHERE erase_at <= ?',
  sums: 'SELECT sessions, bytes FROM session_sums WHERE uid = ?',
} as const

type Row = { readonly head: string; readonly tools: string; readonly bytes: number }

/** The sessions in the embedded store. Each change also erases those of all users that are over. */
export class SqliteSessionStore implements SessionStore {
  readonly #database: DatabaseSync
  readonly #bounds: SessionSums
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync, bounds = SESSION_BOUNDS) {
    this.#database = database
    this.#bounds = bounds
    this.#statements = prepareAll(database, SQL)
  }

  read = async (uid: string, id: string): Promise<Session | undefined> => {
    const row = this.#guarded(() => this.#row(uid, id))
    return row && sessionIn(row.head, row.tools)
  }

  page = async (uid: string, after: string | undefined, limit: number): Promise<readonly SessionHead[]> => {
    const rows = this.#guarded(() => this.#statements.page.all(uid, after ?? '', limit))
    return (rows as Pick<Row, 'head'>[]).map(({ head }) => headIn(head))
  }

  change = <Result>(
    uid: string,
    id: string,
    nowMs: number,
    plan: (session: Session | undefined) => PlannedSession<Result>,
  ): Promise<Result> =>
    inTransactionWhenFree(this.#database, 'IMMEDIATE', () => {
      this.#statements.erase.run(nowMs)
      const row = this.#row(uid, id)
      const { result, session } = plan(row && sessionIn(row.head, row.tools))
      if (session === null) this.#statements.drop.run(uid, id)
      else if (session) this.#put(uid, session, row?.bytes)
      return result
    })

  #put(uid: string, session: Session, before: number | undefined): void {
    const texts = sessionTexts(session)
    const bytes = sessionBytes(texts)
    const { sums, put } = this.#statements
    const known = sums.get(uid) as SessionSums | undefined
    refuseFull(known ?? { sessions: 0, bytes: 0 }, before, bytes, this.#bounds)
    put.run(uid, session.id, texts.head, texts.tools, bytes, endOf(session))
  }

  #row(uid: string, id: string): Row | undefined {
    return this.#statements.read.get(uid, id) as Row | undefined
  }

  #guarded<Result>(act: () => Result): Result {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error)
    }
  }
}
