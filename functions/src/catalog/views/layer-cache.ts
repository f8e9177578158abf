import type { Layer } from '@toolrack/contract'
import { Turns } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { withinMs } from '../../within-ms.ts'
import type { LayerRead, LayerSource } from './layer-source.ts'
import { LayerSnapshot } from './layer-snapshot.ts'

/** For how many milliseconds a layer is used until its revision is checked again. */
export const REVISION_CHECK_MS = 1_000
/**
 * How many milliseconds a request waits for the source of a layer: `withLastGood` if an older state is in memory, else `without`.
 */
export const READ_DEADLINE_MS = { withLastGood: 300, without: 1_500 } as const

/**
 * What is known of a layer: its newest content (`fresh`), the last content that could be read (`stale`), or nothing (`error`).
 */
export type LayerState =
  | { readonly status: 'fresh' | 'stale'; readonly snapshot: LayerSnapshot }
  | { readonly status: 'error'; readonly snapshot?: undefined }

export type LayerReport = (layer: Layer, event: { readonly lost: unknown } | 'back') => void

type Options = { readonly now: () => number; readonly report: LayerReport }

/**
 * Keeps one layer in memory. Asks its source at most once a second for the revision. If a read fails, the last content that was
 * read stays.
 */
export class LayerCache {
  readonly #layer: Layer
  readonly #source: LayerSource
  readonly #options: Options
  #state: LayerState = { status: 'error' }
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  /** True while the source has not answered the present read. */
  #isAsking = false
  #lost = false

  constructor(layer: Layer, source: LayerSource, options: Options) {
    this.#layer = layer
    this.#source = source
    this.#options = options
  }

  /** The last known state of the layer, without a read. */
  get state(): LayerState {
    return this.#state
  }

  /** True if the last check is so recent that `state` may be used without asking the source. */
  get isChecked(): boolean {
    return this.#options.now() - this.#checkedAt < REVISION_CHECK_MS
  }

  /**
   * The state of the layer. If the last check is too old, the layer is read first. Never rejects. The time of `READ_DEADLINE_MS`
   * begins when the source is open.
   */
  async current(): Promise<LayerState> {
    if (this.isChecked) return this.#state
    const reading = this.load()
    await this.#source.open?.()
    const deadlineMs = this.#state.snapshot ? READ_DEADLINE_MS.withLastGood : READ_DEADLINE_MS.without
    // If the source has answered, the request waits even after the deadline. Parsing a large layer takes time, because other work
    // runs in between.
    await withinMs(deadlineMs, reading, () =>
      this.#isAsking ? this.#lose(new Error(`the layer was not read within ${deadlineMs} ms`)) : reading,
    )
    return this.#state
  }

  /** Reads the layer without a deadline. Never rejects. */
  load(): Promise<void> {
    return (this.#reading ??= this.#readAsOwner().finally(() => (this.#reading = undefined)))
  }

  /** Must be called after a change of the layer, so that the next list shows the change. */
  markWritten(): void {
    this.#written += 1
    this.#checkedAt = -Infinity
  }

  /**
   * Reads the layer. If all users share the layer, the read counts as work of the service, and not of the user whose request
   * caused it.
   */
  #readAsOwner(): Promise<void> {
    return this.#layer === 'user' ? this.#read() : asPart(`the ${this.#layer} layer`, () => this.#read())
  }

  /** Reads the layer. If a write came during the read, reads again, because the first read may lack the change. */
  async #read(): Promise<void> {
    try {
      for (let seen = -1; seen !== this.#written;) {
        seen = this.#written
        this.#isAsking = true
        const read = await this.#source.read(this.#state.snapshot?.revision)
        this.#isAsking = false
        this.#state = await this.#stateAfter(read)
      }
      this.#checkedAt = this.#options.now()
      if (this.#lost) this.#options.report(this.#layer, 'back')
      this.#lost = false
    } catch (error) {
      this.#isAsking = false
      this.#lose(error)
    }
  }

  /**
   * The state after a read. If nothing has changed, it is the same object as before, so that views can compare states by
   * identity.
   */
  async #stateAfter(read: LayerRead): Promise<LayerState> {
    const { status, snapshot } = this.#state
    if (read.revision !== snapshot?.revision) {
      const newer = await new Turns().run(LayerSnapshot.after(this.#layer, snapshot, read))
      return { status: 'fresh', snapshot: newer }
    }
    return status === 'fresh' ? this.#state : { status: 'fresh', snapshot }
  }

  #lose(error: unknown): void {
    const { snapshot } = this.#state
    this.#state = snapshot ? { status: 'stale', snapshot } : { status: 'error' }
    this.#checkedAt = this.#options.now()
    if (!this.#lost) this.#options.report(this.#layer, { lost: error })
    this.#lost = true
  }
}
