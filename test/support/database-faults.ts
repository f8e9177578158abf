import { DatabaseSync, StatementSync } from 'node:sqlite'

/** Primary result codes of SQLite. */
export const FAULTS = { 'I/O error': 10, 'full disk': 13 } as const

export type DatabaseFault = {
  /** The index of the operation among those that are watched. */
  readonly at: number
  /** `before`: the operation is not done. `after`: it is done, and its answer is lost. */
  readonly when: 'before' | 'after'
  readonly what: keyof typeof FAULTS
  /** True if every later operation fails too. */
  readonly lasts?: boolean
}

type Act = (this: object, ...args: unknown[]) => unknown

/** Lets the SQLite databases of this process fail. It knows each statement, and each BEGIN and COMMIT. */
export class DatabaseFaults implements Disposable {
  /** The operations since `watch`, as SQL. */
  operations: string[] = []
  #isWatching = false
  #fault: DatabaseFault | undefined
  /** The database that has an open transaction. Transactions are synchronous, so there is never another. */
  #open: DatabaseSync | undefined
  readonly #restores: (() => void)[] = []

  constructor() {
    this.#wrap(DatabaseSync.prototype, 'exec', (_target, args) => String(args[0]))
    for (const name of ['run', 'get', 'all'])
      this.#wrap(StatementSync.prototype, name, (target) => (target as StatementSync).sourceSQL)
  }

  /** Watches from now on, and lets one operation fail. */
  watch(fault?: DatabaseFault): void {
    this.operations = []
    this.#fault = fault
    this.#isWatching = true
  }

  /** Ends all faults. */
  stop(): void {
    this.#isWatching = false
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restores) restore()
  }

  #wrap(prototype: object, name: string, textOf: (target: object, args: readonly unknown[]) => string): void {
    const act = Reflect.get(prototype, name) as Act
    const operate = this.#operate.bind(this)
    Reflect.set(prototype, name, function (this: object, ...args: unknown[]) {
      return operate(textOf(this, args), this, () => act.apply(this, args))
    })
    this.#restores.push(() => Reflect.set(prototype, name, act))
  }

  #operate(text: string, target: object, act: () => unknown): unknown {
    // If even a rollback failed, SQLite would have rolled back by itself.
    if (!this.#isWatching || text === 'ROLLBACK') return act()
    const at = this.operations.push(text.replaceAll(/\s+/g, ' ')) - 1
    const fault = this.#faultAt(at)
    if (fault && !(fault.at === at && fault.when === 'after')) this.#fail(fault)
    const done = act()
    if (text.startsWith('BEGIN')) this.#open = target as DatabaseSync
    if (text === 'COMMIT') this.#open = undefined
    if (fault) this.#fail(fault)
    return done
  }

  #faultAt(at: number): DatabaseFault | undefined {
    const fault = this.#fault
    return fault && (fault.at === at || (fault.lasts === true && at > fault.at)) ? fault : undefined
  }

  #fail({ what }: DatabaseFault): never {
    // On a full disk, SQLite itself rolls the transaction back.
    if (what === 'full disk' && this.#open?.isTransaction) this.#open.exec('ROLLBACK')
    throw Object.assign(new Error(`a fault of the test: ${what}`), { errcode: FAULTS[what] })
  }
}
