import { watch, type FSWatcher } from 'node:fs'

export type WatchPatience = {
  /** Milliseconds from the last event to the scan. A program that saves a file causes several events. */
  readonly quietMs: number
  /** The most milliseconds from the first event to the scan, while events continue. */
  readonly busyMs: number
  /** Milliseconds from one scan to the next if there are no events. Network file systems cause none. */
  readonly pollMs: number
  /** Milliseconds from one scan to the next if there is no folder, or no watch on it. */
  readonly blindMs: number
}

const PATIENCE: WatchPatience = { quietMs: 25, busyMs: 250, pollMs: 5_000, blindMs: 500 }

/** Scans a folder after events, and at intervals without events. Never scans twice at the same time. */
export class FolderWatch {
  readonly #path: string
  readonly #scanAll: () => Promise<void>
  readonly #patience: WatchPatience
  readonly #watchPath: typeof watch
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #firstEventMs: number | undefined
  #scanning: Promise<void> | undefined
  #closed = false

  /** `scanAll` scans the whole folder, because the content of an event is not used. It never rejects. */
  constructor(
    path: string,
    scanAll: () => Promise<void>,
    patience: Partial<WatchPatience> = {},
    watchPath = watch,
  ) {
    this.#path = path
    this.#scanAll = scanAll
    this.#patience = { ...PATIENCE, ...patience }
    this.#watchPath = watchPath
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined
  }

  /** Resolves at the end of a scan that began after the call. */
  async scan(): Promise<void> {
    await this.#scanning
    if (this.#closed) return
    await (this.#scanning ??= this.#scan().finally(() => (this.#scanning = undefined)))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#watcher?.close()
  }

  /** Sets the watch first, so that a change during the scan causes another scan. */
  async #scan(): Promise<void> {
    clearTimeout(this.#timer)
    this.#firstEventMs = undefined
    this.#watchAgain()
    await this.#scanAll()
    if (this.#closed || this.#firstEventMs !== undefined) return
    this.#scanIn(this.#watcher ? this.#patience.pollMs : this.#patience.blindMs)
  }

  /** Sets a new watch at each scan, because a watch ends with its folder, and a check whether it still works costs more. */
  #watchAgain(): void {
    const old = this.#watcher
    this.#watcher = undefined
    try {
      const watcher = this.#watchPath(this.#path, { persistent: false }, () => this.#onEvent())
      watcher.on('error', () => {
        if (this.#watcher === watcher) this.#watcher = undefined
        watcher.close()
        this.#onEvent()
      })
      this.#watcher = watcher
    } catch {
      // There is no folder, or the system has no free watch. Scans are more frequent without a watch.
    }
    old?.close()
  }

  #onEvent(): void {
    if (this.#closed) return
    const nowMs = performance.now()
    this.#firstEventMs ??= nowMs
    const { quietMs, busyMs } = this.#patience
    this.#scanIn(Math.max(0, Math.min(quietMs, this.#firstEventMs + busyMs - nowMs)))
  }

  #scanIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.scan(), ms).unref()
  }
}
