import { grantsDigest, grantsOf, sortedGrants } from '@toolrack/contract'
import type { Digest, ErrorDetail, Grant } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type {
  LayerRead,
  LayerSource,
  SkippedItem,
  StoredDefinition,
} from '../../catalog/views/layer-source.ts'
import type { AdmittedDefinition } from '../../catalog/definitions/admit-definition.ts'
import { faultDetail } from '../../catalog/definitions/admit-module.ts'
import { withPending } from '../../catalog/definitions/pending-text.ts'
import { asPart } from '../../running-work.ts'
import { contentOf } from '../../catalog/definitions/module-content.ts'
import { lockKey } from '../../catalog/definitions/package-lock.ts'
import type { LockedContent } from '../../catalog/definitions/runner.ts'
import type { FolderFile, LoadedModule } from './folder-file.ts'
import { FolderReporter, type FolderNews } from './folder-news.ts'
import type { ModuleFolder } from './module-folder.ts'
import { FILES_MAX } from './scan-folder.ts'

/** A tool of the folder, and where its spec is. */
export type FolderTool = {
  readonly name: string
  readonly file: string
  /**
   * The file under which the folder keeps the tool's module: `weather.py`, or `weather/__init__.py` if the module is a folder.
   */
  readonly mainFile: string
  readonly line: number | null
  readonly module: LoadedModule
  readonly admitted: AdmittedDefinition
  /** The digest of the module's grants, if the module waits for consent to them. */
  readonly pendingGrants?: Digest | undefined
}

/** A module of the folder whose tools ask for grants. */
export type AskingModule = {
  /** The path of the folder. */
  readonly folder: string
  readonly mainFile: string
  readonly module: string
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  readonly isPending: boolean
}

/** Says which modules wait for consent. */
export type FolderConsents = {
  /** Another object after each change. */
  readonly state: object
  /** Reads the consents if they may have changed. */
  readonly read: () => Promise<void>
  readonly decide: (module: Pick<AskingModule, 'folder' | 'module' | 'grants'>) => {
    readonly isPending: boolean
  }
}

/** A file that is not in the layer, or one of its specs that is not. */
export type FolderSkip = {
  readonly file: string
  /** The file under which the folder keeps the module, as in `FolderTool`. */
  readonly mainFile: string
  readonly detail: ErrorDetail
  /** The sha256 of the older content that is used instead. Null if there is none. */
  readonly serving: string | null
}

export type MergedModules = { readonly tools: readonly FolderTool[]; readonly skipped: readonly FolderSkip[] }

type Joined = MergedModules & {
  /** The modules that ask for grants. */
  readonly asking: readonly AskingModule[]
  readonly read: LayerRead
  readonly of: Sources
}
type Sources = {
  readonly files: LayerRead
  readonly modules: ModuleFolder['files']
  readonly consents: object | undefined
}

/** Milliseconds from a change to its report. The operator does not notice this delay. */
const REPORT_MS = 20

const NOTHING_READ: LayerRead = { revision: '', whole: true, definitions: [], deleted: [], skipped: [] }

/** Joins the definition files with a folder of modules. If both have a tool with the same name, the definition files win. */
export class FolderLayer implements LayerSource {
  readonly folder: ModuleFolder
  readonly #files: LayerSource
  #filesRead = NOTHING_READ
  readonly #report: (news: FolderNews) => void
  readonly #consents: FolderConsents | undefined
  readonly #reporter = new FolderReporter()
  #willReport = false
  #joined: Joined | undefined
  #readLast: Sources | undefined
  /** The modules of the last two reads, by `sourceKey`, so that a call that began before the last read finds its module. */
  #sources: readonly ReadonlyMap<string, LockedContent>[] = []

  /**
   * `report` is called for each file that was loaded, refused or removed. This happens during the next `read` or `modules`, or
   * soon after `reportSoon`. Without `consents`, no module waits for consent.
   */
  constructor(
    files: LayerSource,
    folder: ModuleFolder,
    report: (news: FolderNews) => void = () => undefined,
    consents?: FolderConsents,
  ) {
    this.#consents = consents
    this.#files = files
    this.folder = folder
    this.#report = report
  }

  /** False as long as some modules were not read or not checked yet. */
  get isComplete(): boolean {
    const { state, checking } = this.folder
    return state.status !== 'starting' && checking.length === 0
  }

  async open(): Promise<void> {
    await this.#files.open?.()
  }

  /** Returns the whole layer if anything has changed. Rejects if the definition files cannot be read. */
  async read(since?: string): Promise<LayerRead> {
    await this.#readFiles()
    const { read, tools, of } = this.#current()
    if (of !== this.#readLast) {
      this.#readLast = of
      const sources = new Map(
        tools.map(({ module }) => [sourceKey(module.sha256, module.lock?.digest), lockedContent(module)]),
      )
      this.#sources = [sources, ...this.#sources.slice(0, 1)]
    }
    return read.revision === since ? { ...read, whole: false, definitions: [] } : read
  }

  /**
   * The tools that the folder adds to the layer, and the skipped files and specs of the folder. If the definition files cannot be
   * read, their last read is used.
   */
  async modules(): Promise<MergedModules> {
    await this.#readFiles().catch(() => undefined)
    return this.#current()
  }

  /** The modules of the folder that ask for grants, in the order of the file names. */
  async asking(): Promise<readonly AskingModule[]> {
    await this.#readFiles().catch(() => undefined)
    return this.#current().asking
  }

  source(sha256: string, environment?: Digest): LockedContent | undefined {
    const key = sourceKey(sha256, environment)
    return this.#sources.find((sources) => sources.has(key))?.get(key)
  }

  /** Soon reports what has changed in the folder. Several changes are reported at once, because joining the layer costs time. */
  reportSoon(): void {
    if (this.#willReport) return
    this.#willReport = true
    setTimeout(() => {
      this.#willReport = false
      void asPart('the tools folder', () => this.modules())
    }, REPORT_MS).unref()
  }

  async #readFiles(): Promise<void> {
    await this.#consents?.read()
    const since = this.#filesRead === NOTHING_READ ? undefined : this.#filesRead.revision
    const read = await this.#files.read(since)
    if (read.whole) this.#filesRead = read
  }

  /**
   * Where each tool of the folders before this one is. The text names the folder too, because two folders can have files of the
   * same name.
   */
  #placesBelow(): ReadonlyMap<string, string> {
    const below = this.#files
    if (!(below instanceof FolderLayer)) return new Map()
    const places = below.#current().tools.map((tool) => {
      return [tool.name, `${placeOf(tool)}, in ${below.folder.path}`] as const
    })
    return new Map([...below.#placesBelow(), ...places])
  }

  #current(): Joined {
    const of = { files: this.#filesRead, modules: this.folder.files, consents: this.#consents?.state }
    const { files, modules, consents } = this.#joined?.of ?? {}
    if (!this.#joined || files !== of.files || modules !== of.modules || consents !== of.consents) {
      const parts = { folder: this.folder, placesBelow: this.#placesBelow(), consents: this.#consents }
      this.#joined = join(of, parts)
      const checking = new Set(this.folder.checking.map(({ file }) => file))
      this.#reporter.news({ ...this.#joined, files: of.modules, checking }).forEach(this.#report)
    }
    return this.#joined
  }
}

/**
 * The tools of all files, in the order of the file names. If several tools have the same name, the first one gets it. The others
 * are skipped, with a fault that says where the first one is. The names in `taken` belong to the definition files. Its values say
 * where these definitions are.
 */
export function mergeModules(files: Iterable<FolderFile>, taken: ReadonlyMap<string, string>): MergedModules {
  const tools = new Map<string, FolderTool>()
  const skipped: FolderSkip[] = []
  for (const { file, loaded, faults } of files) {
    for (const detail of faults)
      skipped.push({ file, mainFile: file, detail, serving: loaded?.sha256 ?? null })
    for (const { spec, admitted, faults } of loaded?.specs ?? []) {
      const place = { file: spec.file ?? file, mainFile: file, line: spec.line }
      const skip = { file: place.file, mainFile: file, serving: null }
      for (const fault of faults) skipped.push({ ...skip, detail: faultDetail(fault, spec.name) })
      if (!admitted || !loaded) continue
      const { name } = admitted.definition.function
      const first = tools.get(name)
      const owner = taken.get(name) ?? (first && placeOf(first))
      if (owner === undefined) tools.set(name, { name, ...place, module: loaded, admitted })
      else skipped.push({ ...skip, detail: nameTaken(place, name, owner) })
    }
  }
  return { tools: [...tools.values()], skipped }
}

function sourceKey(sha256: string, environment: Digest | undefined): string {
  return environment === undefined ? sha256 : lockKey(sha256, environment)
}

function lockedContent(module: LoadedModule): LockedContent {
  return { ...contentOf(module), lock: module.lock }
}

type Place = { readonly file: string; readonly line: number | null }

/** Where a tool is, for example `weather.py, line 16`. Messages about modules begin with this text. */
function placeOf({ file, line }: Place): string {
  return line === null ? file : `${file}, line ${line}`
}

function nameTaken(place: Place, name: string, owner: string): ErrorDetail {
  const { line } = place
  const message = `${placeOf(place)}: the name '${name}' is taken by ${owner}. Names are unique in the file layer; rename one of them.`
  return { reason: 'NAME_TAKEN', kind: 'name_taken', name, message, ...(line !== null && { line }) }
}

type JoinParts = {
  readonly folder: Pick<ModuleFolder, 'path' | 'surplus'>
  readonly placesBelow: ReadonlyMap<string, string>
  readonly consents: FolderConsents | undefined
}

function join(of: Sources, { folder: { path, surplus }, placesBelow, consents }: JoinParts): Joined {
  const { files, modules } = of
  const taken = files.definitions.map(({ name, source = 'the definitions files' }) => [name, source] as const)
  const named = mergeModules(modules.values(), new Map([...taken, ...placesBelow]))
  const asking = consents ? askingModules(path, named.tools, consents) : []
  const pending = new Map(asking.flatMap((one) => (one.isPending ? [[one.mainFile, one.grantsDigest]] : [])))
  const tools = named.tools.map((tool) => ({ ...tool, pendingGrants: pending.get(tool.mainFile) }))
  const merged = { ...named, tools, asking }
  const definitions = tools.map(stored)
  const skipped = [...files.skipped, ...merged.skipped.map(skippedItem), ...surplusItem(surplus)]
  const hash = createHash('sha256').update(files.revision)
  for (const { text, source } of definitions) hash.update(`${source}\n${text}\n`)
  const revision = hash.update(JSON.stringify(skipped)).digest('hex').slice(0, 12)
  const all = [...files.definitions, ...definitions]
  return { ...merged, of, read: { revision, whole: true, definitions: all, deleted: [], skipped } }
}

/** The modules that ask for grants. A tool whose name is taken is not in the layer, so its grants do not count. */
function askingModules(
  folder: string,
  tools: readonly FolderTool[],
  consents: FolderConsents,
): readonly AskingModule[] {
  return [...Map.groupBy(tools, ({ mainFile }) => mainFile)].flatMap(([mainFile, own]) => {
    const grants = sortedGrants(own.flatMap(({ admitted }) => grantsOf(admitted.definition.runner)))
    const module = own[0]?.module.name
    if (grants.length === 0 || module === undefined) return []
    const { isPending } = consents.decide({ folder, module, grants })
    return [{ folder, mainFile, module, grants, grantsDigest: grantsDigest(grants), isPending }]
  })
}

function stored(tool: FolderTool): StoredDefinition {
  const { digest } = tool.admitted
  const text = withPending(tool.admitted.text, tool.pendingGrants)
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

function surplusItem(surplus: number): readonly SkippedItem[] {
  if (surplus === 0) return []
  const message = `${surplus} more modules are in the folder; ${FILES_MAX} are taken, the first by name. Keep fewer in it.`
  return [{ source: '*.py', pointer: '', message }]
}
