import type { LayerRead, LayerSource } from '../../catalog/views/layer-source.ts'
import type { Digest } from '@toolrack/contract'
import type { LockedContent } from '../../catalog/definitions/runner.ts'
import { FolderLayer, type AskingModule, type FolderConsents, type MergedModules } from './folder-layer.ts'
import type { FolderNews } from './folder-news.ts'
import type { ModuleFolder } from './module-folder.ts'

/** The consents to grants, and how those of modules are recorded that were there before grants were recorded. */
export type FileConsents = FolderConsents & { readonly settle: (isComplete: boolean) => Promise<void> }

/**
 * The definition files, together with several watched folders of modules. If several of these have a tool with the same name, the
 * definition files win, and after them the first folder.
 */
export class FolderLayers implements LayerSource {
  readonly layers: readonly FolderLayer[]
  readonly #whole: LayerSource
  readonly #consents: FileConsents | undefined

  constructor(
    files: LayerSource,
    folders: readonly ModuleFolder[],
    report?: (news: FolderNews) => void,
    consents?: FileConsents,
  ) {
    const layers: FolderLayer[] = []
    for (const folder of folders)
      layers.push(new FolderLayer(layers.at(-1) ?? files, folder, report, consents))
    this.#consents = consents
    this.layers = layers
    this.#whole = layers.at(-1) ?? files
  }

  async open(): Promise<void> {
    await this.#whole.open?.()
  }

  async read(since?: string): Promise<LayerRead> {
    const read = await this.#whole.read(since)
    // If this fails, the next read of the layer does it again.
    await this.#consents?.settle(this.isComplete).catch(() => undefined)
    return read
  }

  /** The modules of all folders that ask for grants. */
  async asking(): Promise<readonly AskingModule[]> {
    return (await Promise.all(this.layers.map((layer) => layer.asking()))).flat()
  }

  /** The tools that the folders add to the layer, and their skipped files and specs. */
  async modules(): Promise<MergedModules> {
    const all = await Promise.all(this.layers.map((layer) => layer.modules()))
    return { tools: all.flatMap(({ tools }) => tools), skipped: all.flatMap(({ skipped }) => skipped) }
  }

  source(sha256: string, environment?: Digest): LockedContent | undefined {
    for (const layer of this.layers) {
      const source = layer.source(sha256, environment)
      if (source) return source
    }
    return undefined
  }

  /** False as long as some modules were not read or not checked yet. */
  get isComplete(): boolean {
    return this.layers.every(({ isComplete }) => isComplete)
  }

  /** Reports soon what has changed in the folders. */
  reportSoon(): void {
    for (const layer of this.layers) layer.reportSoon()
  }

  /** Begins to watch. Resolves at the end of the first scans. Never rejects. */
  async start(): Promise<void> {
    await Promise.all(this.layers.map(({ folder }) => folder.start()))
  }

  /** Resolves when all modules are checked, or after `waitMsMax`. */
  async settled(waitMsMax: number): Promise<void> {
    await Promise.all(this.layers.map(({ folder }) => folder.settled(waitMsMax)))
  }

  /** Reads every file of each folder again, and waits for the checks. */
  async refresh(waitMsMax: number): Promise<void> {
    await Promise.all(this.layers.map(({ folder }) => folder.refresh(waitMsMax)))
  }

  close(): void {
    for (const { folder } of this.layers) folder.close()
  }
}
