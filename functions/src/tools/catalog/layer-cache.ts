import type { Layer } from '@toolrack/contract'
import { withinMs } from '../../within-ms.ts'
import type { LayerRead, LayerSource } from './layer-source.ts'
import { LayerSnapshot } from './layer-snapshot.ts'

/** Milliseconds for which a layer is trusted without a look at its revision. */
export const REVISION_CHECK_MS = 1_000
/** Milliseconds that a request waits for a layer, with an older state of it and without one. */
export const READ_DEADLINE_MS = { withLastGood: 300, without: 1_500 } as const

/** A layer as a request sees it: as it is, as it last was, or not at all. */
export type LayerState =
  | { readonly status: 'fresh' | 'stale'; readonly snapshot: LayerSnapshot }
  | { readonly status: 'error'; readonly snapshot?: undefined }

export type LayerReport = (layer: Layer, event: { readonly lost: unknown } | 'back') => void

type Options = { readonly now: () => number; readonly report: LayerReport }

/** Keeps one layer in memory. It asks for the revision at most once a second, and keeps the last good state if that fails. */
export class LayerCache {
  readonly #layer: Layer
  readonly #source: LayerSource
  readonly #options: Options
  #state: LayerState = { status: 'error' }
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  #lost = false

  constructor(layer: Layer, source: LayerSource, options: Options) {
    this.#layer = layer
    this.#source = source
    this.#options = options
  }

  /** The layer as it was last seen, without a read. */
  get state(): LayerState {
    return this.#state
  }

  /** True if `state` may be used without a read. */
  get isChecked(): boolean {
    return this.#options.now() - this.#checkedAt < REVISION_CHECK_MS
  }

  /** The layer, read if it is time to. Never rejects, and waits no longer than the deadline, which begins when the source is open. */
  async current(): Promise<LayerState> {
    if (this.isChecked) return this.#state
    const reading = this.load()
    await this.#source.open?.()
    const deadlineMs = this.#state.snapshot ? READ_DEADLINE_MS.withLastGood : READ_DEADLINE_MS.without
    await withinMs(deadlineMs, reading, () =>
      this.#lose(new Error(`the layer was not read within ${deadlineMs} ms`)),
    )
    return this.#state
  }

  /** Reads the layer, however long it takes. Never rejects. */
  load(): Promise<void> {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
  }

  /** To be called after a write, so that the writer's next list shows it. */
  markWritten(): void {
    this.#written += 1
    this.#checkedAt = -Infinity
  }

  /** Reads again if there was a write meanwhile, because the read may have come before it. */
  async #read(): Promise<void> {
    try {
      for (let seen = -1; seen !== this.#written;) {
        seen = this.#written
        this.#state = this.#stateAfter(await this.#source.read(this.#state.snapshot?.revision))
      }
      this.#checkedAt = this.#options.now()
      if (this.#lost) this.#options.report(this.#layer, 'back')
      this.#lost = false
    } catch (error) {
      this.#lose(error)
    }
  }

  /** The same object as long as nothing has changed, so that others can compare. */
  #stateAfter(read: LayerRead): LayerState {
    const { status, snapshot } = this.#state
    if (read.revision !== snapshot?.revision)
      return { status: 'fresh', snapshot: LayerSnapshot.after(this.#layer, snapshot, read) }
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
