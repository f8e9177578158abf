import { DatabaseSync } from 'node:sqlite'
import { LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs, LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import { inTransaction } from './in-transaction.ts'
import { prepareLogTables } from './log-tables.ts'
import type { LogStatements } from './log-tables.ts'
import { isFull } from './sqlite-error.ts'

type Row = {
  readonly id: string
  readonly tool: string
  readonly at: string
  readonly text: string
  readonly truncated: number
}

/**
 * What calls have printed, in a file of its own: no call waits for the disk, and what the last moments before a power cut
 * printed may be lost. What goes leaves its pages to what comes, so the file stays near the bound of all logs.
 */
export class SqliteInvocationLogs implements InvocationLogs {
  readonly #database: DatabaseSync
  readonly #statements: LogStatements
  readonly #now: () => number
  readonly #bounds: LogBounds

  constructor(
    path: string,
    { bounds = LOG_BOUNDS, now = Date.now }: { bounds?: LogBounds; now?: () => number } = {},
  ) {
    this.#now = now
    this.#bounds = bounds
    this.#database = new DatabaseSync(path, { timeout: 0 })
    try {
      this.#statements = prepareLogTables(this.#database)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  keep = async (uid: string, log: InvocationLog): Promise<void> => {
    await Promise.resolve()
    for (;;) {
      try {
        inTransaction(this.#database, 'IMMEDIATE', () => this.#keep(uid, log))
        return
      } catch (error) {
        if (!isFull(error) || !this.#makeRoom(logBytes(log))) throw error
      }
    }
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    await Promise.resolve()
    const row = this.#statements.find.get(uid, invocationId, this.#now()) as Row | undefined
    if (!row) return undefined
    const { id, tool, at, text, truncated } = row
    return { invocationId: id, tool, at, text, truncated: truncated === 1 }
  }

  close = (): Promise<void> => {
    this.#database.close()
    return Promise.resolve()
  }

  #keep(uid: string, log: InvocationLog): void {
    const { forget, keep, dropOldest, userSum, wholeSum } = this.#statements
    const nowMs = this.#now()
    forget.run(nowMs)
    const { invocationId, tool, at, text, truncated } = log
    const bytes = logBytes(log)
    // First the room, then the log: it can take the pages of what went.
    while (sum(userSum.get(uid)) + bytes > this.#bounds.userBytes && dropOldest.get(uid)) continue
    while (sum(wholeSum.get()) + bytes > this.#bounds.allBytes && this.#dropOfMost() > 0) continue
    keep.run(uid, invocationId, tool, at, text, Number(truncated), nowMs + LOG_KEPT_MS, bytes)
  }

  /** The oldest log of the user who has most. Answers its bytes; 0 where there is none. */
  #dropOfMost(): number {
    const { userWithMost, dropOldest } = this.#statements
    const user = userWithMost.get() as { uid: string } | undefined
    return user ? sum(dropOldest.get(user.uid)) : 0
  }

  /** On a full disk: drops as many bytes as are wanted, of whoever has most, one log a transaction. False where no log is left. */
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

function sum(row: unknown): number {
  return (row as { bytes: number } | undefined)?.bytes ?? 0
}
