import type { DatabaseSync } from 'node:sqlite'
import type { PlannedScope, ScopeOwner, ScopeStore, ScopeTotals } from '../../features/scopes/scope-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  read: 'SELECT text FROM scopes WHERE uid = ? AND kind = ? AND id = ?',
  all: 'SELECT kind, id, text FROM scopes WHERE uid = ?',
  totals: 'SELECT count(*) AS scopes, coalesce(sum(bytes), 0) AS bytes FROM scopes WHERE uid = ?',
  write: `INSERT INTO scopes (uid, kind, id, bytes, text) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET bytes = excluded.bytes, text = excluded.text`,
  remove: 'DELETE FROM scopes WHERE uid = ? AND kind = ? AND id = ?',
} as const

type Row = ScopeOwner & { readonly text: string }

/** Stored scopes in the embedded database, which `openGovernance` has opened. */
export class SqliteScopeStore implements ScopeStore {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
  }

  read = async (uid: string, owner: ScopeOwner): Promise<string | undefined> =>
    this.#guarded(() => this.#read(uid, owner))

  all = async (uid: string) =>
    this.#guarded(() => {
      const rows = this.#statements.all.all(uid) as unknown as readonly Row[]
      return rows.map(({ kind, id, text }) => ({ owner: { kind, id }, text }))
    })

  change = <Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (text: string | undefined, totals: ScopeTotals) => PlannedScope<Result>,
  ): Promise<Result> =>
    inTransactionWhenFree(this.#database, 'IMMEDIATE', () => this.#change(uid, owner, plan))

  #read(uid: string, { kind, id }: ScopeOwner): string | undefined {
    return (this.#statements.read.get(uid, kind, id) as { readonly text: string } | undefined)?.text
  }

  #change<Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (text: string | undefined, totals: ScopeTotals) => PlannedScope<Result>,
  ): Result {
    const before = this.#read(uid, owner)
    const totals = this.#statements.totals.get(uid) as unknown as ScopeTotals
    const { text, result } = plan(before, { scopes: totals.scopes, bytes: totals.bytes })
    const { kind, id } = owner
    if (text === undefined) this.#statements.remove.run(uid, kind, id)
    else if (text !== before) this.#statements.write.run(uid, kind, id, Buffer.byteLength(text), text)
    return result
  }

  #guarded<Result>(act: () => Result): Result {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error)
    }
  }
}
