import type { DatabaseSync } from 'node:sqlite'
import { ARGUMENTS_KEPT_MS, eraseAtMs, type Approval } from '../../features/approvals/approval.ts'
import type { ApprovalStore, PlannedApprovals } from '../../features/approvals/approval-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  read: 'SELECT text FROM approvals WHERE uid = ?',
  put: `INSERT INTO approvals (uid, text, erase_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET text = excluded.text, erase_at = excluded.erase_at`,
  drop: 'DELETE FROM approvals WHERE uid = ?',
  arguments: 'SELECT text FROM approval_arguments WHERE uid = ? AND id = ? AND erase_at > ?',
  putArguments: `INSERT INTO approval_arguments (uid, id, text, erase_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET text = excluded.text, erase_at = excluded.erase_at`,
  dropArguments: 'DELETE FROM approval_arguments WHERE uid = ? AND id = ?',
  erase: 'DELETE FROM approvals WHERE erase_at <= ?',
  eraseArguments: 'DELETE FROM approval_arguments WHERE erase_at <= ?',
} as const

/** The approvals in the embedded store. Each change also erases what other users have no more use for. */
export class SqliteApprovalStore implements ApprovalStore {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
  }

  read = async (uid: string): Promise<readonly Approval[]> => this.#guarded(() => this.#read(uid))

  arguments = async (uid: string, id: string, nowMs: number): Promise<string | undefined> =>
    this.#guarded(() => textOf(this.#statements.arguments.get(uid, id, nowMs)))

  change = <Result>(
    uid: string,
    nowMs: number,
    plan: (approvals: readonly Approval[]) => PlannedApprovals<Result>,
  ): Promise<Result> =>
    inTransactionWhenFree(this.#database, 'IMMEDIATE', () => {
      const { result, change } = plan(this.#read(uid))
      if (change) this.#write(uid, nowMs, change)
      return result
    })

  #read(uid: string): readonly Approval[] {
    const text = textOf(this.#statements.read.get(uid))
    return text === undefined ? [] : (JSON.parse(text) as readonly Approval[])
  }

  #write(
    uid: string,
    nowMs: number,
    { approvals, put, dropped = [] }: NonNullable<PlannedApprovals<unknown>['change']>,
  ): void {
    const statements = this.#statements
    if (approvals.length === 0) statements.drop.run(uid)
    else statements.put.run(uid, JSON.stringify(approvals), eraseAtMs(approvals))
    for (const id of dropped) statements.dropArguments.run(uid, id)
    if (put) statements.putArguments.run(uid, put.id, put.text, nowMs + ARGUMENTS_KEPT_MS)
    statements.erase.run(nowMs)
    statements.eraseArguments.run(nowMs)
  }

  #guarded<Result>(act: () => Result): Result {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error)
    }
  }
}

function textOf(row: unknown): string | undefined {
  return (row as { text: string } | undefined)?.text
}
