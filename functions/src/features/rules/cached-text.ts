import type { Log } from '../../log.ts'
import { READ_DEADLINE_MS, REVISION_CHECK_MS } from '../../catalog/views/layer-cache.ts'
import { asPart } from '../../running-work.ts'
import { withinMs } from '../../within-ms.ts'

/** How many milliseconds a call waits for its rules if none are in memory. If they are not read by then, the call is refused. */
export const FIRST_READ_DEADLINE_MS = 5_000

type Options = { readonly now: () => number; readonly log: Log }

/** Reads a text, and parses it into a value. Both functions may throw. */
export type TextSource<Value> = {
  /** A name for the text in the log, such as `rules`. `scope` says whose text it is. */
  readonly what: string
  readonly scope: string
  readonly open?: (() => Promise<void>) | undefined
  readonly read: () => Promise<string | undefined>
  readonly parse: (text: string | undefined) => Value
}

/**
 * Keeps one text of a store in memory, with the value that was parsed from it. Reads the store at most once a second. If a read
 * fails, the last good value stays. If no read has ever succeeded, `value` is undefined, which does not mean that the text is
 * empty.
 */
export class CachedText<Value> {
  readonly #source: TextSource<Value>
  readonly #options: Options
  #text: string | undefined
  #value: Value | undefined
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  /** The longest time that a caller has already waited for the read that is running, in milliseconds. */
  #waitedMs = 0
  #isLost = false

  constructor(source: TextSource<Value>, options: Options) {
    this.#source = source
    this.#options = options
  }

  /** The last known value. It stays the same object as long as the text is the same. Undefined if it could never be read. */
  get value(): Value | undefined {
    return this.#value
  }

  get bytes(): number {
    return this.#text?.length ?? 0
  }

  /**
   * True if the last check is recent, and waiting for a read would not help. It would help only if there is no value yet, a read
   * is running, and no caller has waited `firstMs` for it. Calls have a longer `firstMs` than lists.
   */
  isReady(firstMs: number): boolean {
    if (this.#options.now() - this.#checkedAt >= REVISION_CHECK_MS) return false
    return this.#value !== undefined || !this.#reading || this.#waitedMs >= firstMs
  }

  /** False if the last check has failed, even if an earlier good value is there. */
  get isFresh(): boolean {
    return this.#value !== undefined && !this.#isLost
  }

  /** Reads the text if the last check is too old. Without a value, waits up to `firstMs` for the read. Never rejects. */
  async current(firstMs: number): Promise<void> {
    if (this.isReady(firstMs)) return
    if (!this.#reading) this.#waitedMs = 0
    const reading = (this.#reading ??= this.#readAsOwner().finally(() => (this.#reading = undefined)))
    await this.#source.open?.()
    const deadlineMs = this.#value !== undefined ? READ_DEADLINE_MS.withLastGood : firstMs
    await withinMs(deadlineMs, reading, () => {
      this.#waitedMs = Math.max(this.#waitedMs, deadlineMs)
      this.#lose(new Error(`they were not read within ${deadlineMs} ms`))
    })
  }

  /**
   * Takes a text that this instance has just written. If a read is running, it is repeated, because it may have read an older
   * text.
   */
  put(text: string | undefined): void {
    this.#written += 1
    this.#take(text)
  }

  /**
   * Reads the text. The time for a text of everybody counts as work of the service, and not of the user whose request needs it.
   */
  #readAsOwner(): Promise<void> {
    const { what, scope } = this.#source
    return scope === 'user' ? this.#read() : asPart(`${what} for ${scope}`, () => this.#read())
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const written = this.#written
        const text = await this.#source.read()
        if (written !== this.#written) continue
        return this.#take(text)
      }
    } catch (error) {
      this.#lose(error)
    }
  }

  #take(text: string | undefined): void {
    if (this.#value === undefined || text !== this.#text) this.#value = this.#source.parse(text)
    this.#text = text
    this.#checkedAt = this.#options.now()
    const { what, scope } = this.#source
    if (this.#isLost) this.#options.log.info(`${what} can be read again`, { scope })
    this.#isLost = false
  }

  #lose(error: unknown): void {
    this.#checkedAt = this.#options.now()
    const { what, scope } = this.#source
    const reason = error instanceof Error ? error.message : 'unknown'
    if (!this.#isLost) this.#options.log.error(`${what} could not be read`, { scope, reason })
    this.#isLost = true
  }
}
