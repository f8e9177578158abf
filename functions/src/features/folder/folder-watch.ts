import { watch, type FSWatcher } from 'node:fs'
import { asPart } from '../../running-work.ts'

export type WatchPatience = {
  /** Milliseconds from the last event to the scan, because a program that saves a file causes several events. */
  readonly quietMs: number
  /** The most milliseconds from the first event to the scan, while events continue. */
  readonly busyMs: number
  /** Milliseconds from one scan to the next if there are no events. Network file systems cause no events. */
  readonly pollMs: number
  /** Milliseconds from one scan to the next if there is no folder, or if the folder cannot be watched. */
  readonly blindMs: number
}

const PATIENCE: WatchPatience = { quietMs: 25, busyMs: 250, pollMs: 5_000, blindMs: 500 }

/**
 * Scans the whole folder, because an event does not say reliably what has changed. Never rejects. If later changes of a subfolder
 * must cause another scan, calls `watch` with its path before it reads the subfolder.
 */
type ScanAll = (watch: (path: string) => void) => Promise<void>

/** Scans a folder after events, and at intervals without events. Never scans twice at the same time. */
export class FolderWatch {
  readonly #path: string
  readonly #scanAll: ScanAll
  readonly #patience: WatchPatience
  readonly #watchPath: typeof watch
  #watchers: FSWatcher[] = []
  /** True if there is a watch on the folder, and on each subfolder for which the last scan has asked. */
  #isWatching = false
  #timer: NodeJS.Timeout | undefined
  #firstEventMs: number | undefined
  #scanning: Promise<void> | undefined
  #closed = false

  constructor(path: string, scanAll: ScanAll, patience: Partial<WatchPatience> = {}, watchPath = watch) {
    this.#path = path
    this.#scanAll = scanAll
    this.#patience = { ...PATIENCE, ...patience }
    this.#watchPath = watchPath
  }

  get isWatching(): boolean {
    return this.#isWatching
  }

  /** Resolves at the end of a scan that began after this function was called. */
  async scan(): Promise<void> {
    await this.#scanning
    if (this.#closed) return
    await (this.#scanning ??= asPart('the tools folder', () => this.#scan()).finally(
      () => (this.#scanning = undefined),
    ))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    closeAll(this.#watchers)
  }

  /**
   * Sets each watch before its folder is read, so that a change during the scan causes another scan. Sets new watches at each
   * scan, because a watch ends with its folder, and a check whether it still works costs more.
   */
  async #scan(): Promise<void> {
    clearTimeout(this.#timer)
    this.#firstEventMs = undefined
    const old = this.#watchers
    this.#watchers = []
    this.#isWatching = true
    this.#watchFolder(this.#path)
    await this.#scanAll((path) => this.#watchFolder(path))
    closeAll(old)
    if (this.#closed || this.#firstEventMs !== undefined) return
    this.#scanIn(this.#isWatching ? this.#patience.pollMs : this.#patience.blindMs)
  }

  #watchFolder(path: string): void {
    if (this.#closed) return
    try {
      const watcher = this.#watchPath(path, { persistent: false }, () => this.#onEvent())
      watcher.on('error', () => {
        if (this.#watchers.includes(watcher)) this.#isWatching = false
        watcher.close()
        this.#onEvent()
      })
      this.#watchers.push(watcher)
    } catch (error) {
      // There is no folder, or the system has no free watch. Scans are more frequent without a watch. If a subfolder has just
      // been removed, no watch on it is needed: the watch on the folder above it reports the removal.
      const isGone = path !== this.#path && (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!isGone) this.#isWatching = false
    }
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

function closeAll(watchers: readonly FSWatcher[]): void {
  for (const watcher of watchers) watcher.close()
}
