import type { Log } from '../../log.ts'
import { READ_DEADLINE_MS, REVISION_CHECK_MS } from '../../tools/catalog/layer-cache.ts'
import { asPart } from '../../running-work.ts'
import { withinMs } from '../../within-ms.ts'
import { readRuleSets, type RuleSets } from './kept-rules.ts'
import type { RuleScope, RuleStore } from './rule-store.ts'

/** Milliseconds that a call waits for rules of which nothing is in memory. Without them, it is refused. */
export const FIRST_READ_DEADLINE_MS = 5_000

type Options = { readonly now: () => number; readonly log: Log }

/**
 * Keeps the rule sets of one scope in memory. Reads the store once a second at most. If this fails, the last good sets remain. If
 * it never succeeded, there are no sets, which is not the same as empty sets.
 */
export class CachedRules {
  readonly #store: RuleStore
  readonly #scope: RuleScope
  readonly #options: Options
  #text: string | undefined
  #sets: RuleSets | undefined
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  /** The longest time that somebody has waited for the read under way, in milliseconds. */
  #waitedMs = 0
  #isLost = false

  constructor(store: RuleStore, scope: RuleScope, options: Options) {
    this.#store = store
    this.#scope = scope
    this.#options = options
  }

  /** The last known sets. The same object as long as the text is the same. Undefined if they could never be read. */
  get sets(): RuleSets | undefined {
    return this.#sets
  }

  get bytes(): number {
    return this.#text?.length ?? 0
  }

  /**
   * True if `sets` may be used as they are: the last check is recent, and there are sets, or nobody would wait longer for the first
   * read than somebody has waited already. A call waits longer than a list.
   */
  isReady(firstMs: number): boolean {
    if (this.#options.now() - this.#checkedAt >= REVISION_CHECK_MS) return false
    return this.#sets !== undefined || !this.#reading || this.#waitedMs >= firstMs
  }

  /** False if the last check has failed, also if the last good sets are there. */
  get isFresh(): boolean {
    return this.#sets !== undefined && !this.#isLost
  }

  /** Reads the sets if the last check is too old. If there are none yet, waits for them as long as `firstMs`. Never rejects. */
  async current(firstMs: number): Promise<void> {
    if (this.isReady(firstMs)) return
    if (!this.#reading) this.#waitedMs = 0
    const reading = (this.#reading ??= this.#readAsOwner().finally(() => (this.#reading = undefined)))
    await this.#store.open?.()
    const deadlineMs = this.#sets ? READ_DEADLINE_MS.withLastGood : firstMs
    await withinMs(deadlineMs, reading, () => {
      this.#waitedMs = Math.max(this.#waitedMs, deadlineMs)
      this.#lose(new Error(`the rules were not read within ${deadlineMs} ms`))
    })
  }

  /** Takes the text that was just written. A read that is under way may be older, so it is repeated. */
  put(text: string | undefined): void {
    this.#written += 1
    this.#take(text)
  }

  /** The rules for everybody are read as work of the service, whoever has asked for them. */
  #readAsOwner(): Promise<void> {
    return this.#scope.kind === 'user' ? this.#read() : asPart('the rules for everybody', () => this.#read())
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const written = this.#written
        const text = await this.#store.read(this.#scope)
        if (written !== this.#written) continue
        return this.#take(text)
      }
    } catch (error) {
      this.#lose(error)
    }
  }

  #take(text: string | undefined): void {
    if (!this.#sets || text !== this.#text) this.#sets = readRuleSets(text)
    this.#text = text
    this.#checkedAt = this.#options.now()
    if (this.#isLost) this.#options.log.info('rules can be read again', { scope: this.#scope.kind })
    this.#isLost = false
  }

  #lose(error: unknown): void {
    this.#checkedAt = this.#options.now()
    if (!this.#isLost)
      this.#options.log.error('rules could not be read', {
        scope: this.#scope.kind,
        reason: error instanceof Error ? error.message : 'unknown',
      })
    this.#isLost = true
  }
}
