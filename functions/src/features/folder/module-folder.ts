import type { watch } from 'node:fs'
import type { PackageLock } from '../../catalog/definitions/package-lock.ts'
import { checkFile, type CheckOutcome, type CheckParts } from './check-file.ts'
import type { FileModules } from './file-modules.ts'
import { afterRead, type FileRead, type FolderFile } from './folder-file.ts'
import { FolderWatch, type WatchPatience } from './folder-watch.ts'
import { ModuleChecks, type Unchecked } from './module-checks.ts'
import { FILES_MAX, moduleNameOf, otherFormOf, scanFolder } from './scan-folder.ts'

/**
 * How many milliseconds the tools of a missing folder stay. A folder that is missing for less time is probably being replaced.
 */
const GONE_AFTER_MS = 1_000

/** Milliseconds until a module is checked again whose lock could not be read. */
const LOCK_AGAIN_MS = 1_000

/** `starting` until the first scan has ended. The reason is a sentence for the operator. */
export type FolderState =
  | { readonly status: 'starting' | 'watched' }
  | { readonly status: 'polled' | 'missing' | 'unreadable'; readonly reason: string }

const POLLED: FolderState = {
  status: 'polled',
  reason: 'The system has no watch left for it, so it is looked at twice a second.',
}

type Parts = CheckParts & {
  readonly path: string
  /** Keeps the locks of the modules. Without it, a restart resolves their packages anew. */
  readonly kept?: FileModules
  /** Called with a sentence about the check of a file, at least once a second while packages are installed. */
  readonly progress?: (file: string, text: string) => void
  /** Called after each change of `files`. */
  readonly changed: () => void
  readonly patience?: Partial<WatchPatience>
  readonly watchPath?: typeof watch
}

/** A folder of modules. It checks each file that is saved there, and removes the modules of deleted files. */
export class ModuleFolder {
  readonly path: string
  readonly #parts: Parts
  readonly #watch: FolderWatch
  readonly #checks: ModuleChecks
  #files: ReadonlyMap<string, FolderFile> = new Map()
  #state: FolderState = { status: 'starting' }
  #surplus = 0
  #missingSinceMs: number | undefined
  #readsAll = false

  constructor(parts: Parts) {
    const { path, patience, watchPath } = parts
    this.path = path
    this.#parts = parts
    this.#watch = new FolderWatch(path, (watch) => this.#scan(watch), patience, watchPath)
    this.#checks = new ModuleChecks({
      check: (file, content) => this.#check(file, content),
      ended: (file, { sha256 }, outcome) => {
        const known = this.#files.get(file)
        if (known?.sha256 !== sha256) return
        if ('faults' in outcome) return this.#set({ ...known, faults: outcome.faults })
        if (known.loaded?.sha256 !== sha256) this.#forget(known)
        this.#set({ ...known, faults: [], loaded: { ...outcome.module, loadedAt: new Date() } })
      },
    })
  }

  /** Checks a file with the lock that is kept for its content, and keeps its lock. Never rejects. */
  async #check(file: string, content: Unchecked): Promise<CheckOutcome> {
    const { kept, progress, log } = this.#parts
    const place = { folder: this.path, file }
    const { sha256 } = content
    let lock: PackageLock | undefined
    try {
      lock = await kept?.lock(place, sha256)
    } catch (error) {
      // Without its lock, the module could get other versions of its packages.
      return {
        refusal: `Its lock cannot be read. ${messageOf(error)}`,
        isLasting: false,
        againMs: LOCK_AGAIN_MS,
      }
    }
    const onProgress = (text: string) => progress?.(file, text)
    const outcome = await checkFile({ name: moduleNameOf(file), ...content, lock, onProgress }, this.#parts)
    if ('againMs' in outcome) progress?.(file, `is not checked yet: ${outcome.refusal}`)
    if ('module' in outcome && outcome.module.lock)
      await kept?.keep(place, sha256, outcome.module.lock).catch((error: unknown) => {
        log.warn('the lock of a module could not be kept', { file, reason: messageOf(error) })
      })
    return outcome
  }

  /** The files by name. The map is replaced only when something has changed. */
  get files(): ReadonlyMap<string, FolderFile> {
    return this.#files
  }

  get state(): FolderState {
    return this.#state
  }

  /** The number of modules beyond `FILES_MAX`. */
  get surplus(): number {
    return this.#surplus
  }

  get checking(): ModuleChecks['pending'] {
    return this.#checks.pending
  }

  /** Begins to watch. Resolves at the end of the first scan, before anything is checked. Never rejects. */
  start(): Promise<void> {
    return this.#watch.scan()
  }

  /** Reads every file again, checks new and refused files, and waits for the checks. */
  async refresh(waitMsMax: number): Promise<void> {
    this.#readsAll = true
    await this.#watch.scan()
    this.#checks.hurry()
    await this.#checks.settled(waitMsMax)
  }

  /** Resolves when nothing waits to be checked, or after `waitMsMax` milliseconds. */
  async settled(waitMsMax: number): Promise<void> {
    await this.#checks.settled(waitMsMax)
  }

  close(): void {
    this.#watch.close()
    this.#checks.close()
  }

  async #scan(watch: (path: string) => void): Promise<void> {
    const readsAll = this.#readsAll
    this.#readsAll = false
    const stampOf = (file: string) => (readsAll ? undefined : this.#files.get(file)?.stamp)
    const scan = await scanFolder(this.path, stampOf, watch)
    if (scan.found === 'folder') {
      this.#missingSinceMs = undefined
      this.#state = this.#watch.isWatching ? { status: 'watched' } : POLLED
      this.#take(scan.files, scan.surplus, readsAll)
    } else if (scan.found === 'fault') {
      const reason = `${scan.reason} What it last held goes on.`
      if (this.#state.status !== 'unreadable')
        this.#parts.log.error('the folder of modules cannot be read', { reason })
      this.#state = { status: 'unreadable', reason }
    } else {
      this.#state = { status: 'missing', reason: 'There is no such folder; it is looked for.' }
      this.#missingSinceMs ??= performance.now()
      if (performance.now() - this.#missingSinceMs >= GONE_AFTER_MS) this.#take(new Map(), 0, false)
    }
  }

  #take(reads: ReadonlyMap<string, FileRead>, surplus: number, retry: boolean): void {
    const removed = [...this.#files.values()].filter(({ file }) => !reads.has(file))
    const files = [...reads].map(([file, read]) => this.#after(file, read, retry, removed))
    for (const known of removed) this.#remove(known, files)
    const isSame =
      surplus === this.#surplus &&
      files.length === this.#files.size &&
      files.every((file) => this.#files.get(file.file) === file)
    this.#surplus = surplus
    if (isSame) return
    if (surplus > 0)
      this.#parts.log.warn(`the folder of modules has more than ${FILES_MAX} files`, { left: surplus })
    this.#files = new Map(files.map((file) => [file.file, file]))
    this.#parts.changed()
  }

  /**
   * What is known of a file after a read of it. If a module has become a folder, or the reverse, its loaded content stays until
   * the new content is checked.
   */
  #after(file: string, read: FileRead, retry: boolean, removed: readonly FolderFile[]): FolderFile {
    const { loaded } = removed.find((other) => other.file === otherFormOf(file)) ?? {}
    const known = this.#files.get(file) ?? { file, stamp: '', loaded, faults: [] }
    const { next, check } = afterRead(known, read, retry && !this.#checks.isPending(file))
    if (check === 'drop') this.#checks.forget(file)
    if (check === 'want' && read.found === 'content') this.#checks.want(file, read)
    return next
  }

  #set(file: FolderFile): void {
    this.#files = new Map(this.#files).set(file.file, file)
    this.#parts.changed()
  }

  #remove(known: FolderFile, files: readonly FolderFile[]): void {
    this.#checks.forget(known.file)
    if (!files.some(({ loaded }) => loaded === known.loaded)) this.#forget(known)
  }

  /** Ends the processes that have a file's loaded module, for every user. */
  #forget({ loaded }: FolderFile): void {
    if (loaded) void this.#parts.runner.forget({ module: loaded.name, sha256: loaded.sha256 })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
