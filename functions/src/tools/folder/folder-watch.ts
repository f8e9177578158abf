import { watch, type FSWatcher } from 'node:fs'

export type WatchPatience = {
  /** From the last event to the look. A program that saves causes several events. */
  readonly quietMs: number
  /** How long a look waits at most while there are more and more events. */
  readonly busyMs: number
  /** From one look to the next without events. File systems of other machines cause none. */
  readonly pollMs: number
  /** The same if there is no folder, or no watch on it. */
  readonly blindMs: number
}

const PATIENCE: WatchPatience = { quietMs: 25, busyMs: 250, pollMs: 5_000, blindMs: 500 }

/**
 * Looks at a folder when there was an event, and now and then without one. It does not trust what an event says: each time it
 * looks at the whole folder, one look after the other.
 */
export class FolderWatch {
  readonly #path: string
  readonly #lookAtAll: () => Promise<void>
  readonly #patience: WatchPatience
  readonly #watchPath: typeof watch
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #toldMs: number | undefined
  #looking: Promise<void> | undefined
  #closed = false

  /** `lookAtAll` never rejects. */
  constructor(
    path: string,
    lookAtAll: () => Promise<void>,
    patience: Partial<WatchPatience> = {},
    watchPath = watch,
  ) {
    this.#path = path
    this.#lookAtAll = lookAtAll
    this.#patience = { ...PATIENCE, ...patience }
    this.#watchPath = watchPath
  }

  get isTold(): boolean {
    return this.#watcher !== undefined
  }

  /** Resolves with the end of a look that began after the call. */
  async look(): Promise<void> {
    await this.#looking
    if (this.#closed) return
    await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#watcher?.close()
  }

  /** The watch comes first, so that a change during the look causes another one. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    this.#toldMs = undefined
    this.#watchAnew()
    await this.#lookAtAll()
    if (this.#closed || this.#toldMs !== undefined) return
    this.#lookIn(this.#watcher ? this.#patience.pollMs : this.#patience.blindMs)
  }

  /** A watch dies with its folder. To make a new one costs less than to find that out. */
  #watchAnew(): void {
    const old = this.#watcher
    this.#watcher = undefined
    try {
      const watcher = this.#watchPath(this.#path, { persistent: false }, () => this.#told())
      watcher.on('error', () => {
        if (this.#watcher === watcher) this.#watcher = undefined
        watcher.close()
        this.#told()
      })
      this.#watcher = watcher
    } catch {
      // There is no folder, or the system has no watch left. Then the looks come more often.
    }
    old?.close()
  }

  #told(): void {
    if (this.#closed) return
    const nowMs = performance.now()
    this.#toldMs ??= nowMs
    const { quietMs, busyMs } = this.#patience
    this.#lookIn(Math.max(0, Math.min(quietMs, this.#toldMs + busyMs - nowMs)))
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.look(), ms).unref()
  }
}
