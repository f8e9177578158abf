import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  LayerRead,
  LayerSource,
  SkippedItem,
  StoredDefinition,
} from '../../tools/catalog/layer-source.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { readDefinitionFile, type DefinitionFile, type FiledDefinition } from './read-definition-file.ts'

/** The file layer: the `*.json` of one folder. A file is read again when its size, time or inode has changed. */
export class FileLayer implements LayerSource {
  readonly #folder: string
  readonly #compilers: SchemaCompilers
  #files = new Map<string, { readonly stamp: string; readonly content: DefinitionFile }>()

  constructor(folder: string, compilers: SchemaCompilers) {
    this.#folder = folder
    this.#compilers = compilers
  }

  /** Brings the whole layer if anything has changed, because it is small. Rejects if the folder cannot be read. */
  async read(since?: string): Promise<LayerRead> {
    const files = await this.#readFiles()
    const { definitions, skipped } = mergeFiles([...files.values()])
    this.#files = files
    const revision = revisionOf(definitions, skipped)
    if (revision === since) return { revision, whole: false, definitions: [], deleted: [], skipped }
    return { revision, whole: true, definitions: definitions.map(stored), deleted: [], skipped }
  }

  async #readFiles(): Promise<Map<string, { stamp: string; content: DefinitionFile }>> {
    const entries = await readdir(this.#folder, { withFileTypes: true })
    const names = entries.filter((entry) => entry.name.endsWith('.json') && !entry.name.startsWith('.'))
    const read = names.map(async (entry) => [entry.name, await this.#readFile(entry)] as const)
    return new Map((await Promise.all(read)).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  async #readFile(entry: Dirent): Promise<{ stamp: string; content: DefinitionFile }> {
    const path = join(this.#folder, entry.name)
    const stats = await stat(path, { bigint: true }).catch(() => undefined)
    if (stats && !stats.isFile()) {
      const message = 'is not a file; a definitions file is wanted here'
      return {
        stamp: '',
        content: { definitions: [], skipped: [{ source: entry.name, pointer: '', message }] },
      }
    }
    const stamp = stats ? [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ') : 'unknown'
    const known = this.#files.get(entry.name)
    if (known && stats && known.stamp === stamp) return known
    return { stamp, content: await readDefinitionFile(path, this.#compilers) }
  }
}

/** Unites the files in the order of their names. Of two tools with one name the first is kept and the other is skipped. */
function mergeFiles(files: readonly { content: DefinitionFile }[]): DefinitionFile {
  const byName = new Map<string, FiledDefinition>()
  const skipped = files.flatMap(({ content }) => content.skipped)
  for (const definition of files.flatMap(({ content }) => content.definitions)) {
    const { name } = definition.definition.function
    const first = byName.get(name)
    if (!first) byName.set(name, definition)
    else {
      const message = `the name ${name} is taken by ${first.source}#${first.pointer}; names are unique across files`
      skipped.push({ source: definition.source, pointer: definition.pointer, message })
    }
  }
  return { definitions: [...byName.values()], skipped }
}

/** The same files give the same revision, on every machine and after every restart. */
function revisionOf(definitions: readonly FiledDefinition[], skipped: readonly SkippedItem[]): string {
  const hash = createHash('sha256')
  for (const { source, pointer, text } of definitions) hash.update(`${source}#${pointer}\n${text}\n`)
  return hash.update(JSON.stringify(skipped)).digest('hex').slice(0, 12)
}

/** The revision of a definition is made from its own text, so changes of others do not touch it. */
function stored(filed: FiledDefinition): StoredDefinition {
  const { digest, text, definition, source, pointer } = filed
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { name: definition.function.name, text, digest, revision, source: `${source}#${pointer}` }
}
