import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { placeOf, type LayerRead, type LayerSource } from '../../catalog/views/layer-source.ts'
import type { SkippedItem, StoredDefinition } from '../../catalog/views/layer-source.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { ALL_FILES, findFiles } from './find-files.ts'
import type { KeptAdmissions } from './kept-admissions.ts'
import { readDefinitionFile, type DefinitionFile, type FiledDefinition } from './read-definition-file.ts'

/** How many files are open at the same time. Without this limit, all files of a large folder would be opened at once. */
const FILES_AT_ONCE = 64

/** A file that was read, and its stamp, which changes with the file. Without a stamp, the file must be read again. */
type StampedFile = { readonly stamp?: string | undefined; readonly content: DefinitionFile }

type Options = {
  readonly kept?: KeptAdmissions | undefined
  /**
   * The folder of the service's own definitions. They are in the layer too. If the folder that is read defines the same names,
   * the definitions there count.
   */
  readonly ownFolder?: string
}

/** The prefix by which the names of the service's own files differ from other names. */
const OWN = 'toolrack:'

/**
 * The file layer: the `*.json` files of one folder and its subfolders. If the size, the times or the inode of a file have
 * changed, it is read again.
 */
export class FileLayer implements LayerSource {
  readonly #folder: string
  readonly #compilers: SchemaCompilers
  readonly #kept: KeptAdmissions | undefined
  readonly #ownFolder: string | undefined
  #files: ReadonlyMap<string, StampedFile> = new Map()

  constructor(folder: string, compilers: SchemaCompilers, { kept, ownFolder }: Options = {}) {
    this.#folder = folder
    this.#compilers = compilers
    this.#kept = kept
    this.#ownFolder = ownFolder
  }

  /**
   * Reads the files that have changed. After any change the result is the whole layer, because the layer is small. Rejects if the
   * folder cannot be read.
   */
  async read(since?: string): Promise<LayerRead> {
    const found = await findFiles(this.#folder)
    const files = await this.#readFiles(found.files)
    const { definitions: given, skipped: faults } = mergeFiles([...files.values()])
    const own = await this.#readOwn()
    const taken = new Set(given.map(nameOf))
    const added = mergeFiles([...own.values()]).definitions.filter((one) => !taken.has(nameOf(one)))
    const definitions = [...given, ...added]
    const skipped = [...found.skipped, ...faults, ...nothingServed(given.length, files.size)]
    this.#files = new Map([...files, ...own])
    this.#kept?.keep([...this.#files.values()].map(({ content }) => content))
    const revision = revisionOf(definitions, skipped)
    const whole = revision !== since
    return { revision, whole, definitions: whole ? definitions.map(stored) : [], deleted: [], skipped }
  }

  async #readOwn(): Promise<Map<string, StampedFile>> {
    if (this.#ownFolder === undefined) return new Map()
    const { files } = await findFiles(this.#ownFolder)
    return this.#readFiles(files.map((name) => `${OWN}${name}`))
  }

  async #readFiles(names: readonly string[]): Promise<Map<string, StampedFile>> {
    const files = new Map<string, StampedFile>()
    for (let start = 0; start < names.length; start += FILES_AT_ONCE) {
      const read = names
        .slice(start, start + FILES_AT_ONCE)
        .map(async (name) => [name, await this.#readFile(name)] as const)
      for (const [name, file] of await Promise.all(read)) files.set(name, file)
    }
    return files
  }

  async #readFile(name: string): Promise<StampedFile> {
    const path = name.startsWith(OWN)
      ? join(this.#ownFolder ?? '', name.slice(OWN.length))
      : join(this.#folder, name)
    const stats = await stat(path, { bigint: true }).catch(() => undefined)
    if (stats && !stats.isFile()) {
      const message = 'is not a file; a definitions file is wanted here'
      return { content: { definitions: [], skipped: [{ source: name, pointer: '', message }] } }
    }
    const stamp = stats && [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ')
    const known = this.#files.get(name)
    if (known && stamp !== undefined && known.stamp === stamp) return known
    return { stamp, content: await readDefinitionFile(path, this.#compilers, name, this.#kept) }
  }
}

/** Joins the content of the files in the order of their names. If two tools have the same name, the second one is skipped. */
function mergeFiles(files: readonly StampedFile[]): DefinitionFile {
  const byName = new Map<string, FiledDefinition>()
  const skipped = files.flatMap(({ content }) => content.skipped)
  for (const definition of files.flatMap(({ content }) => content.definitions)) {
    const name = nameOf(definition)
    const first = byName.get(name)
    if (!first) byName.set(name, definition)
    else {
      const message = `the name ${name} is taken by ${placeOf(first)}; names are unique across files`
      skipped.push({ source: definition.source, pointer: definition.pointer, message })
    }
  }
  return { definitions: [...byName.values()], skipped }
}

function nameOf({ definition }: FiledDefinition): string {
  return definition.function.name
}

/**
 * The item that reports a folder without any usable definition, because its owner probably expects tools. Empty if there is one.
 */
function nothingServed(definitions: number, files: number): readonly SkippedItem[] {
  if (definitions > 0) return []
  const message =
    files === 0
      ? 'no definition can be served: neither the folder nor its subfolders have such a file. Put definition files into the folder, or name the folder that has them.'
      : 'no definition can be served: no file has one. Correct the files, or name the folder that has definitions.'
  return [{ source: ALL_FILES, pointer: '', message }]
}

/** The revision of the layer. The same files give the same revision on every machine. */
function revisionOf(definitions: readonly FiledDefinition[], skipped: readonly SkippedItem[]): string {
  const hash = createHash('sha256')
  for (const { source, pointer, text } of definitions) hash.update(`${source}#${pointer}\n${text}\n`)
  return hash.update(JSON.stringify(skipped)).digest('hex').slice(0, 12)
}

/** Makes a stored definition. Its revision is the hash of its text, so it does not change when other definitions change. */
function stored(filed: FiledDefinition): StoredDefinition {
  const { digest, text, definition } = filed
  const revision = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { name: definition.function.name, text, digest, revision, source: placeOf(filed) }
}
