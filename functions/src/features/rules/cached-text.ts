import type { Log } from '../../log.ts'
import { READ_DEADLINE_MS, REVISION_CHECK_MS } from '../../catalog/views/layer-cache.ts'
import { asPart } from '../../running-work.ts'
import { withinMs } from '../../within-ms.ts'

/** Milliseconds that a call waits for its rules if none are in memory. After this time, the call is refused. */
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
 * Keeps one text of a store in memory, with the value that was parsed from it. Reads the store once a second at most. If a read
 * fails, the last good value remains. If no read ever succeeded, there is no value, which is not the same as an empty value.
 */
export class CachedText<Value> {
  readonly #source: TextSource<Value>
  readonly #options: Options
  #text: string | undefined
  #value: Value | undefined
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  /** The longest time that somebody has waited for the read under way, in milliseconds. */
  #waitedMs = 0
  #isLost = false

  constructor(source: TextSource<Value>, options: Options) {
    this.#source = source
    this.#options = options
  }

  /** The last known value. The same object as long as the text is the same. Undefined if it could never be read. */
  get value(): Value | undefined {
    return this.#value
  }

  get bytes(): number {
    return this.#text?.length ?? 0
  }

  /**
   * True if `value` may be used as it is: the last check is recent, and waiting does not help. Waiting helps only if there is no
   * value, a read is under way, and nobody has waited for it as long as `firstMs`. A call waits longer than a list.
   */
  isReady(firstMs: number): boolean {
    if (this.#options.now() - this.#checkedAt >= REVISION_CHECK_MS) return false
    return this.#value !== undefined || !this.#reading || this.#waitedMs >= firstMs
  }

  /** False if the last check has failed, also if the last good value is there. */
  get isFresh(): boolean {
    return this.#value !== undefined && !this.#isLost
  }

  /** Reads the text if the last check is too old. If there is no value yet, waits for it as long as `firstMs`. Never rejects. */
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

  /** Takes the text that was just written. A read that is under way may be older, so it is repeated. */
  put(text: string | undefined): void {
    this.#written += 1
    this.#take(text)
  }

  /** A text for everybody is read as work of the service, and not of the user who has asked for it. */
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
