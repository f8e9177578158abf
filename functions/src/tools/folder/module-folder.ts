import type { watch } from 'node:fs'
import { checkFile, type CheckParts } from './check-file.ts'
import { afterLook, type FileRead, type FolderFile } from './folder-file.ts'
import { FolderWatch, type WatchPatience } from './folder-watch.ts'
import { ModuleChecks } from './module-checks.ts'
import { FILES_MAX, moduleNameOf, scanFolder } from './scan-folder.ts'

/** Milliseconds for which the tools of a missing folder stay. A folder that is gone for less is being replaced. */
const GONE_AFTER_MS = 1_000

/** `starting` until the first look has ended. The reason is a sentence for the operator. */
export type FolderState =
  | { readonly status: 'starting' | 'watched' }
  | { readonly status: 'polled' | 'missing' | 'unreadable'; readonly reason: string }

const POLLED: FolderState = {
  status: 'polled',
  reason: 'The system has no watch left for it, so it is looked at twice a second.',
}

type Parts = CheckParts & {
  readonly path: string
  /** Called after each change of `files`. */
  readonly changed: () => void
  readonly patience?: Partial<WatchPatience>
  readonly watchPath?: typeof watch
}

/** A folder of modules. It checks each file that is saved there, and forgets each that is removed. */
export class ModuleFolder {
  readonly path: string
  readonly #parts: Parts
  readonly #watch: FolderWatch
  readonly #checks: ModuleChecks
  #files: ReadonlyMap<string, FolderFile> = new Map()
  #state: FolderState = { status: 'starting' }
  #left = 0
  #missingSinceMs: number | undefined
  #readsAnew = false

  constructor(parts: Parts) {
    const { path, patience, watchPath } = parts
    this.path = path
    this.#parts = parts
    this.#watch = new FolderWatch(path, () => this.#look(), patience, watchPath)
    this.#checks = new ModuleChecks({
      check: (file, source) => checkFile({ name: moduleNameOf(file), source }, parts),
      ended: (file, { sha256 }, outcome) => {
        const known = this.#files.get(file)
        if (known?.sha256 !== sha256) return
        if ('faults' in outcome) return this.#set({ ...known, faults: outcome.faults })
        if (known.loaded?.sha256 !== sha256) this.#forget(known)
        this.#set({ ...known, faults: [], loaded: { ...outcome.module, loadedAt: new Date() } })
        parts.log.info('module loaded', { file, tools: outcome.module.tools.length })
      },
    })
  }

  /** By file name; the same object as long as nothing has changed. */
  get files(): ReadonlyMap<string, FolderFile> {
    return this.#files
  }

  get state(): FolderState {
    return this.#state
  }

  /** The number of modules beyond the most of a folder. */
  get left(): number {
    return this.#left
  }

  get checking(): ModuleChecks['pending'] {
    return this.#checks.pending
  }

  /** Begins to watch. Resolves with the end of the first look, before anything is checked. Never rejects. */
  start(): Promise<void> {
    return this.#watch.look()
  }

  /** Reads every file again, checks those that are new or were refused, and waits for the checks. */
  async refresh(waitMsMax: number): Promise<void> {
    this.#readsAnew = true
    await this.#watch.look()
    this.#checks.hurry()
    await this.#checks.settled(waitMsMax)
  }

  close(): void {
    this.#watch.close()
    this.#checks.close()
  }

  async #look(): Promise<void> {
    const anew = this.#readsAnew
    this.#readsAnew = false
    const scan = await scanFolder(this.path, (file) => (anew ? undefined : this.#files.get(file)?.stamp))
    if (scan.found === 'folder') {
      this.#missingSinceMs = undefined
      this.#state = this.#watch.isTold ? { status: 'watched' } : POLLED
      this.#take(scan.files, scan.left, anew)
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

  #take(reads: ReadonlyMap<string, FileRead>, left: number, anew: boolean): void {
    for (const [file, known] of this.#files) if (!reads.has(file)) this.#remove(known)
    const files = [...reads].map(([file, read]) => this.#after(file, read, anew))
    const isSame =
      left === this.#left &&
      files.length === this.#files.size &&
      files.every((file) => this.#files.get(file.file) === file)
    this.#left = left
    if (isSame) return
    if (left > 0) this.#parts.log.warn(`the folder of modules has more than ${FILES_MAX} files`, { left })
    this.#files = new Map(files.map((file) => [file.file, file]))
    this.#parts.changed()
  }

  #after(file: string, read: FileRead, anew: boolean): FolderFile {
    const known = this.#files.get(file) ?? { file, stamp: '', faults: [] }
    const { next, check } = afterLook(known, read, anew && !this.#checks.isPending(file))
    if (check === 'drop') this.#checks.forget(file)
    if (check === 'want' && read.found === 'content') this.#checks.want(file, read)
    return next
  }

  #set(file: FolderFile): void {
    this.#files = new Map(this.#files).set(file.file, file)
    this.#parts.changed()
  }

  #remove(known: FolderFile): void {
    this.#checks.forget(known.file)
    this.#forget(known)
    this.#parts.log.info('module removed', { file: known.file })
  }

  /** Ends the use of a file's loaded module, for every user. */
  #forget({ loaded }: FolderFile): void {
    if (loaded) void this.#parts.runner.forget({ module: loaded.name, sha256: loaded.sha256 })
  }
}
