import { createHash } from 'node:crypto'
import type { LayerRead, LayerSource, SkippedItem } from '../catalog/layer-source.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import { mergeModules, placeOf } from './merge-modules.ts'
import type { FolderSkip, FolderTool, MergedModules } from './merge-modules.ts'
import type { ModuleFolder } from './module-folder.ts'
import { FILES_MAX } from './scan-folder.ts'

/** The file layer with a folder of modules in it, at one moment. */
type Joined = MergedModules & { readonly read: LayerRead; readonly of: Sources }
type Sources = { readonly files: LayerRead; readonly modules: ModuleFolder['files'] }

/** Joins the definitions files with a folder of modules; of two tools of one name that of the definitions files is kept. */
export class FolderLayer implements LayerSource {
  readonly folder: ModuleFolder
  readonly #files: LayerSource
  #filesRead: LayerRead | undefined
  #joined: Joined | undefined
  #readLast: Sources | undefined
  /** The modules of the last two reads: a call that began before the last one still finds its source. */
  #sources: readonly ReadonlyMap<string, string>[] = []

  constructor(files: LayerSource, folder: ModuleFolder) {
    this.#files = files
    this.folder = folder
  }

  async open(): Promise<void> {
    await this.#files.open?.()
  }

  /** Brings the whole layer when anything has changed. Rejects when the definitions files can't be read. */
  async read(since?: string): Promise<LayerRead> {
    await this.#readFiles()
    const { read, tools, of } = this.#current()
    if (of !== this.#readLast) {
      this.#readLast = of
      const sources = new Map(tools.map(({ module }) => [module.sha256, module.source]))
      this.#sources = [sources, ...this.#sources.slice(0, 1)]
    }
    return read.revision === since ? { ...read, whole: false, definitions: [] } : read
  }

  /** What the folder adds to the layer now, and what of it is left out; beside the definitions files as they were last read. */
  async modules(): Promise<MergedModules> {
    await this.#readFiles().catch(() => undefined)
    return this.#current()
  }

  /** The source of a module that is listed. */
  source(sha256: string): string | undefined {
    return this.#sources.flatMap((sources) => sources.get(sha256) ?? [])[0]
  }

  async #readFiles(): Promise<void> {
    const read = await this.#files.read(this.#filesRead?.revision)
    if (read.whole) this.#filesRead = read
  }

  #current(): Joined {
    const of = { files: this.#filesRead ?? NOTHING_READ, modules: this.folder.files }
    const { files, modules } = this.#joined?.of ?? {}
    if (!this.#joined || files !== of.files || modules !== of.modules)
      this.#joined = join(of, this.folder.left)
    return this.#joined
  }
}

const NOTHING_READ: LayerRead = { revision: '', whole: true, definitions: [], deleted: [], skipped: [] }

function join(of: Sources, left: number): Joined {
  const { files, modules } = of
  const taken = new Map(
    files.definitions.map(({ name, source }) => [name, source ?? 'the definitions files']),
  )
  const merged = mergeModules(modules.values(), taken)
  const definitions = merged.tools.map(stored)
  const skipped = [...files.skipped, ...merged.skipped.map(skippedItem), ...leftOut(left)]
  const hash = createHash('sha256').update(files.revision)
  for (const { text, source } of definitions) hash.update(`${source}\n${text}\n`)
  const revision = hash.update(JSON.stringify(skipped)).digest('hex').slice(0, 12)
  const all = [...files.definitions, ...definitions]
  return { ...merged, of, read: { revision, whole: true, definitions: all, deleted: [], skipped } }
}

function stored(tool: FolderTool): StoredDefinition {
  const { text, digest } = tool.admitted
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { name: tool.name, text, digest, revision, source: placeOf(tool) }
}

function skippedItem({ file, detail }: FolderSkip): SkippedItem {
  const { name, message } = detail
  return {
    source: file,
    pointer: '',
    message: typeof message === 'string' ? message : 'is left out',
    ...(typeof name === 'string' && { name }),
  }
}

function leftOut(left: number): readonly SkippedItem[] {
  if (left === 0) return []
  const message = `${left} more modules are in the folder; ${FILES_MAX} are taken, the first by name. Keep fewer in it.`
  return [{ source: '*.py', pointer: '', message }]
}
