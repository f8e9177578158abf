import type { Layer } from '@toolrack/contract'
import type { LayerRead, LayerSource } from './layer-source.ts'
import { LayerSnapshot } from './layer-snapshot.ts'

/** How long a layer is trusted without a look at its revision, in milliseconds (design, section 6). */
export const REVISION_CHECK_MS = 1_000
/** How long a request waits for a layer when an older state of it is at hand, and when none is. */
export const READ_DEADLINE_MS = { withLastGood: 300, without: 1_500 } as const

/** A layer as a request sees it: as it is, as it last was, or not at all. */
export type LayerState =
  | { readonly status: 'fresh' | 'stale'; readonly snapshot: LayerSnapshot }
  | { readonly status: 'error'; readonly snapshot?: undefined }

/** Tells the log that a layer was lost, and that it is back. */
export type LayerReport = (layer: Layer, event: { readonly lost: unknown } | 'back') => void

/** Keeps one layer in memory: asks for its revision at most once a second, and goes on with the last good state when it can't be read. */
export class LayerCache {
  readonly #layer: Layer
  readonly #source: LayerSource
  readonly #now: () => number
  readonly #report: LayerReport
  #state: LayerState = { status: 'error' }
  #checkedAt = -Infinity
  #written = 0
  #reading: Promise<void> | undefined
  #lost = false

  constructor(layer: Layer, source: LayerSource, options: { now: () => number; report: LayerReport }) {
    this.#layer = layer
    this.#source = source
    this.#now = options.now
    this.#report = options.report
  }

  /** The layer as it was last seen, without a read. */
  get state(): LayerState {
    return this.#state
  }

  /** Whether `state` may be used without a read. */
  get isChecked(): boolean {
    return this.#now() - this.#checkedAt < REVISION_CHECK_MS
  }

  /** The layer, read if it is time to; never rejects and never waits longer than the deadline, which begins when the source is open. */
  async current(): Promise<LayerState> {
    if (this.isChecked) return this.#state
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    await this.#source.open?.()
    const deadlineMs = this.#state.snapshot ? READ_DEADLINE_MS.withLastGood : READ_DEADLINE_MS.without
    const inTime = await settledWithin(this.#reading, deadlineMs)
    if (!inTime) this.#lose(new Error(`the layer was not read within ${deadlineMs} ms`))
    return this.#state
  }

  /** The first read, however long it takes: for a start, when nobody waits yet. Never rejects. */
  load(): Promise<void> {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
  }

  /** To be called after a write, so that the writer's next list shows it. */
  markWritten(): void {
    this.#written += 1
    this.#checkedAt = -Infinity
  }

  /** Reads again when a write came while it was reading: what it read may be older than the write. */
  async #read(): Promise<void> {
    try {
      for (let seen = -1; seen !== this.#written;) {
        seen = this.#written
        const read = await this.#source.read(this.#state.snapshot?.revision)
        this.#state = this.#stateAfter(read)
      }
      this.#checkedAt = this.#now()
      if (this.#lost) this.#report(this.#layer, 'back')
      this.#lost = false
    } catch (error) {
      this.#lose(error)
    }
  }

  /** The same object as long as nothing has changed: who holds it can tell by that. */
  #stateAfter(read: LayerRead): LayerState {
    const { status, snapshot } = this.#state
    if (read.revision !== snapshot?.revision) {
      return { status: 'fresh', snapshot: LayerSnapshot.after(this.#layer, snapshot, read) }
    }
    return status === 'fresh' ? this.#state : { status: 'fresh', snapshot }
  }

  #lose(error: unknown): void {
    const { snapshot } = this.#state
    this.#state = snapshot ? { status: 'stale', snapshot } : { status: 'error' }
    this.#checkedAt = this.#now()
    if (!this.#lost) this.#report(this.#layer, { lost: error })
    this.#lost = true
  }
}

async function settledWithin(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)))
  const inTime = await Promise.race([work.then(() => true), late])
  clearTimeout(timer)
  return inTime
}
