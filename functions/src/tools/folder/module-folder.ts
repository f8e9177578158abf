import type { watch } from 'node:fs'
import type { Log } from '../../log.ts'
import type { Runner } from '../modules/runner.ts'
import { checkFile } from './check-file.ts'
import type { CheckParts } from './check-file.ts'
import { afterLook } from './folder-file.ts'
import type { FolderFile } from './folder-file.ts'
import { FolderWatch } from './folder-watch.ts'
import type { WatchPatience } from './folder-watch.ts'
import { ModuleChecks } from './module-checks.ts'
import { moduleNameOf } from './module-file-name.ts'
import type { FileRead } from './read-module-file.ts'
import { FILES_MAX, scanFolder } from './scan-folder.ts'

/** A folder that is gone for less than this is being replaced; its tools stay for so long. */
const GONE_AFTER_MS = 1_000

/** `starting` until the first look has ended; the reason is a sentence for the operator. */
export type FolderState =
  | { readonly status: 'starting' | 'watched' }
  | { readonly status: 'polled' | 'missing' | 'unreadable'; readonly reason: string }

const POLLED: FolderState = {
  status: 'polled',
  reason: 'The system has no watch left for it, so it is looked at twice a second.',
}

type Parts = CheckParts & {
  readonly path: string
  /** Called after each change of what `files` tells. */
  readonly changed: () => void
  readonly patience?: Partial<WatchPatience>
  readonly watchPath?: typeof watch
}

/** A folder of modules, kept in step with what lies there: whatever is saved is checked, whatever is removed goes. */
export class ModuleFolder {
  readonly path: string
  readonly #log: Log
  readonly #runner: Runner
  readonly #changed: () => void
  readonly #watch: FolderWatch
  readonly #checks: ModuleChecks
  #files: ReadonlyMap<string, FolderFile> = new Map()
  #state: FolderState = { status: 'starting' }
  #left = 0
  #missingSinceMs: number | undefined
  #readsAnew = false

  constructor({ path, changed, patience, watchPath, ...parts }: Parts) {
    this.path = path
    this.#log = parts.log
    this.#runner = parts.runner
    this.#changed = changed
    this.#watch = new FolderWatch(path, () => this.#look(), patience, watchPath)
    this.#checks = new ModuleChecks({
      check: (file, source) => checkFile({ name: moduleNameOf(file), source }, parts),
      ended: (file, { sha256 }, outcome) => {
        const known = this.#files.get(file)
        if (known?.sha256 !== sha256) return
        if ('faults' in outcome) return this.#set({ ...known, faults: outcome.faults })
        if (known.loaded?.sha256 !== sha256) this.#forget(known)
        this.#set({ ...known, faults: [], loaded: { ...outcome.module, loadedAt: new Date() } })
        this.#log.info('module loaded', { file, tools: outcome.module.tools.length })
      },
    })
  }

  /** The same object as long as nothing has changed; by file name. */
  get files(): ReadonlyMap<string, FolderFile> {
    return this.#files
  }

  get state(): FolderState {
    return this.#state
  }

  /** Modules beyond the most that a folder may have. */
  get left(): number {
    return this.#left
  }

  get checking(): ModuleChecks['pending'] {
    return this.#checks.pending
  }

  /** Begins to watch; resolves with the end of the first look, before anything is checked. Never rejects. */
  start(): Promise<void> {
    return this.#watch.look()
  }

  /** Reads every file anew, has everything checked that is new or was refused, and waits until that is done. */
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
      this.#become(this.#watch.isTold ? { status: 'watched' } : POLLED)
      this.#take(scan.files, scan.left, anew)
    } else if (scan.found === 'fault') {
      this.#become({ status: 'unreadable', reason: `${scan.reason} What it last held goes on.` })
    } else {
      this.#become({ status: 'missing', reason: 'There is no such folder; it is looked for.' })
      this.#missingSinceMs ??= performance.now()
      if (performance.now() - this.#missingSinceMs >= GONE_AFTER_MS) this.#take(new Map(), 0, false)
    }
  }

  #become(state: FolderState): void {
    if (state.status === 'unreadable' && this.#state.status !== 'unreadable')
      this.#log.error('the folder of modules can not be read', { reason: state.reason })
    this.#state = state
  }

  #take(reads: ReadonlyMap<string, FileRead>, left: number, anew: boolean): void {
    for (const file of this.#files.keys()) if (!reads.has(file)) this.#remove(file)
    const files = [...reads].map(([file, read]) => this.#after(file, read, anew))
    const isSame =
      left === this.#left &&
      files.length === this.#files.size &&
      files.every((file) => this.#files.get(file.file) === file)
    this.#left = left
    if (isSame) return
    if (left > 0) this.#log.warn(`the folder of modules has more than ${FILES_MAX} files`, { left })
    this.#files = new Map(files.map((file) => [file.file, file]))
    this.#changed()
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
    this.#changed()
  }

  #remove(file: string): void {
    this.#checks.forget(file)
    this.#forget(this.#files.get(file))
    this.#log.info('module removed', { file })
  }

  /** What was loaded of a file serves no more. Every user may have called it. */
  #forget(file: FolderFile | undefined): void {
    const { name: module, sha256 } = file?.loaded ?? {}
    if (module !== undefined && sha256 !== undefined) void this.#runner.forget({ module, sha256 })
  }
}
