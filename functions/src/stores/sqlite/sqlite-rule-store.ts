import type { DatabaseSync } from 'node:sqlite'
import type { PlannedText, TextScope, RuleStore } from '../../features/rules/rule-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  read: 'SELECT text FROM rules WHERE scope = ?',
  write: 'INSERT INTO rules VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
  remove: 'DELETE FROM rules WHERE scope = ?',
} as const

/** Rule sets in the embedded database, which `openGovernance` has opened. */
export class SqliteRuleStore implements RuleStore {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
  }

  read = async (scope: TextScope): Promise<string | undefined> => {
    await Promise.resolve()
    try {
      return this.#read(scope)
    } catch (error) {
      throw sqliteError(error)
    }
  }

  change = <Result>(
    scope: TextScope,
    plan: (text: string | undefined) => PlannedText<Result>,
  ): Promise<Result> => inTransactionWhenFree(this.#database, 'IMMEDIATE', () => this.#change(scope, plan))

  #read(scope: TextScope): string | undefined {
    const row = this.#statements.read.get(keyOf(scope)) as { readonly text: string } | undefined
    return row?.text
  }

  #change<Result>(scope: TextScope, plan: (text: string | undefined) => PlannedText<Result>): Result {
    const before = this.#read(scope)
    const { text, result } = plan(before)
    if (text === undefined) this.#statements.remove.run(keyOf(scope))
    else if (text !== before) this.#statements.write.run(keyOf(scope), text)
    return result
  }
}

/** No user id is empty or has a blank. */
function keyOf(scope: TextScope): string {
  if (scope.kind === 'everybody') return ''
  return scope.kind === 'user' ? scope.uid : ` ${scope.kind}`
}
