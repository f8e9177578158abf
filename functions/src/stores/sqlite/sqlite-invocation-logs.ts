import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { LOG_KEPT_MS } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs } from '../../calls/pipeline/invocation-logs.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS logs (
    uid TEXT NOT NULL,
    id TEXT NOT NULL,
    tool TEXT NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    truncated INTEGER NOT NULL,
    kept_until INTEGER NOT NULL,
    PRIMARY KEY (uid, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS logs_by_end ON logs (kept_until);
`

type Row = {
  readonly id: string
  readonly tool: string
  readonly at: string
  readonly text: string
  readonly truncated: number
}

/**
 * What calls have printed, in a file of its own: no call waits for the disk, and what the last moments before a power cut
 * printed may be lost.
 */
export class SqliteInvocationLogs implements InvocationLogs {
  readonly #database: DatabaseSync
  readonly #keep: StatementSync
  readonly #find: StatementSync
  readonly #forget: StatementSync
  readonly #now: () => number

  constructor(path: string, now: () => number = Date.now) {
    this.#now = now
    this.#database = new DatabaseSync(path, { timeout: 0 })
    this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${SCHEMA}`)
    this.#keep = this.#database.prepare(
      'INSERT INTO logs (uid, id, tool, at, text, truncated, kept_until) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    this.#find = this.#database.prepare(
      'SELECT id, tool, at, text, truncated FROM logs WHERE uid = ? AND id = ? AND kept_until > ?',
    )
    this.#forget = this.#database.prepare('DELETE FROM logs WHERE kept_until <= ?')
  }

  keep = async (uid: string, log: InvocationLog): Promise<void> => {
    await Promise.resolve()
    const nowMs = this.#now()
    this.#forget.run(nowMs)
    const { invocationId, tool, at, text, truncated } = log
    this.#keep.run(uid, invocationId, tool, at, text, Number(truncated), nowMs + LOG_KEPT_MS)
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    await Promise.resolve()
    const row = this.#find.get(uid, invocationId, this.#now()) as Row | undefined
    if (!row) return undefined
    const { id, tool, at, text, truncated } = row
    return { invocationId: id, tool, at, text, truncated: truncated === 1 }
  }

  close = (): Promise<void> => {
    this.#database.close()
    return Promise.resolve()
  }
}
