import type { ErrorDetail } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { LayerRead, LayerSource, SkippedItem, StoredDefinition } from '../catalog/layer-source.ts'
import type { AdmittedDefinition } from '../definitions/admit-definition.ts'
import { faultDetail } from '../modules/admit-module.ts'
import type { FolderFile, LoadedModule } from './folder-file.ts'
import type { ModuleFolder } from './module-folder.ts'
import { FILES_MAX } from './scan-folder.ts'

/** A tool of the folder as the file layer has it. */
export type FolderTool = {
  readonly name: string
  readonly file: string
  readonly line: number | null
  readonly module: LoadedModule
  readonly admitted: AdmittedDefinition
}

/** A file, or one spec of it, that is left out. */
export type FolderSkip = {
  readonly file: string
  readonly detail: ErrorDetail
  /** The sha256 of the older content that serves in place of the file's; null if nothing of the file serves. */
  readonly serving: string | null
}

export type MergedModules = { readonly tools: readonly FolderTool[]; readonly skipped: readonly FolderSkip[] }

type Joined = MergedModules & { readonly read: LayerRead; readonly of: Sources }
type Sources = { readonly files: LayerRead; readonly modules: ModuleFolder['files'] }

const NOTHING_READ: LayerRead = { revision: '', whole: true, definitions: [], deleted: [], skipped: [] }

/** Joins the definitions files with a folder of modules. Of two tools of one name it keeps that of the definitions files. */
export class FolderLayer implements LayerSource {
  readonly folder: ModuleFolder
  readonly #files: LayerSource
  #filesRead = NOTHING_READ
  #joined: Joined | undefined
  #readLast: Sources | undefined
  /** The sources of the last two reads, by sha256: a call that began before the last one still finds its source. */
  #sources: readonly ReadonlyMap<string, string>[] = []

  constructor(files: LayerSource, folder: ModuleFolder) {
    this.#files = files
    this.folder = folder
  }

  async open(): Promise<void> {
    await this.#files.open?.()
  }

  /** Brings the whole layer if anything has changed. Rejects if the definitions files cannot be read. */
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

  /** What the folder adds to the layer now, and what of it is left out. The definitions files are as they were last read. */
  async modules(): Promise<MergedModules> {
    await this.#readFiles().catch(() => undefined)
    return this.#current()
  }

  source(sha256: string): string | undefined {
    return this.#sources.find((sources) => sources.has(sha256))?.get(sha256)
  }

  async #readFiles(): Promise<void> {
    const read = await this.#files.read(
      this.#filesRead === NOTHING_READ ? undefined : this.#filesRead.revision,
    )
    if (read.whole) this.#filesRead = read
  }

  #current(): Joined {
    const of = { files: this.#filesRead, modules: this.folder.files }
    const { files, modules } = this.#joined?.of ?? {}
    if (!this.#joined || files !== of.files || modules !== of.modules)
      this.#joined = join(of, this.folder.left)
    return this.#joined
  }
}

/**
 * The tools of all files, by file name. A name belongs to the first file that has it, unless it is in `taken`, which says where
 * it is. Any other tool of that name is left out, with the place of the first.
 */
export function mergeModules(files: Iterable<FolderFile>, taken: ReadonlyMap<string, string>): MergedModules {
  const tools = new Map<string, FolderTool>()
  const skipped: FolderSkip[] = []
  for (const { file, loaded, faults } of files) {
    for (const detail of faults) skipped.push({ file, detail, serving: loaded?.sha256 ?? null })
    for (const { spec, admitted, faults } of loaded?.specs ?? []) {
      const { line } = spec
      for (const fault of faults) skipped.push({ file, detail: faultDetail(fault, spec.name), serving: null })
      if (!admitted || !loaded) continue
      const { name } = admitted.definition.function
      const first = tools.get(name)
      const owner = taken.get(name) ?? (first && placeOf(first))
      if (owner === undefined) tools.set(name, { name, file, line, module: loaded, admitted })
      else skipped.push({ file, detail: nameTaken({ file, line }, name, owner), serving: null })
    }
  }
  return { tools: [...tools.values()], skipped }
}

type Place = { readonly file: string; readonly line: number | null }

/** `weather.py, line 16`, as messages about modules begin. */
function placeOf({ file, line }: Place): string {
  return line === null ? file : `${file}, line ${line}`
}

function nameTaken(place: Place, name: string, owner: string): ErrorDetail {
  const { line } = place
  const message = `${placeOf(place)}: the name '${name}' is taken by ${owner}. Names are unique in the file layer; rename one of them.`
  return { reason: 'NAME_TAKEN', kind: 'name_taken', name, message, ...(line !== null && { line }) }
}

function join(of: Sources, left: number): Joined {
  const { files, modules } = of
  const taken = files.definitions.map(({ name, source = 'the definitions files' }) => [name, source] as const)
  const merged = mergeModules(modules.values(), new Map(taken))
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
