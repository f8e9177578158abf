import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'

export type WatchPatience = {
  /** How long nothing may be told before a look: a program that saves tells several times. */
  readonly quietMs: number
  /** How long a look waits at the most while more and more is told. */
  readonly busyMs: number
  /** From one look to the next where nothing is told: file systems of other machines tell nothing. */
  readonly pollMs: number
  /** The same where nothing can tell, for there is no folder or no watch on it. */
  readonly blindMs: number
}

const PATIENCE: WatchPatience = { quietMs: 25, busyMs: 250, pollMs: 5_000, blindMs: 500 }

/**
 * Has a folder looked at whenever anything is told of it, and now and then where nothing is. What is told is not believed:
 * each time the whole folder is looked at, one look at a time.
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

  /** Whether anything is told of the folder. */
  get isTold(): boolean {
    return this.#watcher !== undefined
  }

  /** Resolves with the end of a look that has begun after now. */
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

  /** The watch comes first: what happens during the look is told, and leads to another. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    this.#toldMs = undefined
    this.#watchAnew()
    await this.#lookAtAll()
    if (this.#closed || this.#toldMs !== undefined) return
    this.#lookIn(this.#watcher ? this.#patience.pollMs : this.#patience.blindMs)
  }

  /** A watch dies with the folder that it was put on; a new one costs less than finding out. */
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
      // No folder, or no watches left: then it is looked at more often.
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
