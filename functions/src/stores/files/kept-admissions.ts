import { createHash } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import type { Log } from '../../log.ts'
import { parseObject } from '../../parse-object.ts'
import { keptFile, readKeptFile } from './kept-file.ts'
import { readBytes } from './read-bytes.ts'
import type { DefinitionFile } from './read-definition-file.ts'

/** The most bytes that are kept: room for about 40,000 definitions. Files beyond it are checked at every start. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024

type Options = {
  readonly path: string
  /** Identifies the program. Admissions that another program has kept are not used. */
  readonly program: () => string
  readonly log: Pick<Log, 'warn'>
  readonly bytesMax?: number
}

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/**
 * What admission found for the definition files, kept from one start to the next, so that a start does not compile every schema
 * again. It is only a copy: a file that is missing, damaged, too large or of another program is ignored, and written again.
 */
export class KeptAdmissions {
  readonly #options: Options & { readonly bytesMax: number }
  #program: string | undefined
  /** What was kept at an earlier start. Undefined until it is needed. */
  #earlier: ReadonlyMap<string, unknown> | undefined
  /** The keys of what is kept now. */
  #keys = new Set<string>()
  #writing = Promise.resolve()

  constructor(options: Options) {
    this.#options = { bytesMax: KEPT_BYTES_MAX, ...options }
  }

  /** What admission found at an earlier start for the file with this key. Undefined if it is not known, or not credible. */
  find(key: string, source: string): DefinitionFile | undefined {
    this.#earlier ??= this.#read()
    const kept = this.#earlier.get(key)
    if (kept === undefined) return undefined
    const file = readKeptFile(kept, source)
    if (file) return { ...file, key }
    this.#keys.delete(key)
    return undefined
  }

  /** Keeps what was found for the files of the folder, and nothing else. Writes only if other files were kept until now. */
  keep(files: readonly DefinitionFile[]): void {
    const present = new Map(files.flatMap((file) => (file.key === undefined ? [] : [[file.key, file]])))
    this.#earlier = NOTHING
    if (present.size === this.#keys.size && [...present.keys()].every((key) => this.#keys.has(key))) return
    this.#keys = new Set(present.keys())
    this.#writing = this.#writing.then(() => this.#write(present))
  }

  /** Resolves when nothing is being written. */
  async written(): Promise<void> {
    await this.#writing
  }

  #read(): ReadonlyMap<string, unknown> {
    const { path, bytesMax } = this.#options
    const read = readBytes(path, bytesMax)
    if ('fault' in read) return NOTHING
    const text = read.bytes.toString()
    const headEnd = text.indexOf('\n')
    const body = text.slice(headEnd + 1)
    if (text.slice(0, headEnd) !== this.#headOf(body)) return NOTHING
    const kept = new Map(Object.entries(parseObject(body) ?? {}))
    this.#keys = new Set(kept.keys())
    return kept
  }

  /** Writes a new file beside the old one and renames it, so that no start finds a part of it. */
  async #write(files: ReadonlyMap<string, DefinitionFile>): Promise<void> {
    const { path, log } = this.#options
    const beside = `${path}.new`
    const body = this.#bodyOf(files)
    try {
      await rm(beside, { force: true })
      await writeFile(beside, `${this.#headOf(body)}\n${body}`, { flag: 'wx', mode: 0o600 })
      await rename(beside, path)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      log.warn('the next start will check every definition file again', { reason: code ?? message })
    }
  }

  #bodyOf(files: ReadonlyMap<string, DefinitionFile>): string {
    const entries: string[] = []
    // Leaves room for the head.
    let bytes = 1_024
    for (const [key, file] of files) {
      const entry = `"${key}":${JSON.stringify(keptFile(file))}`
      bytes += Buffer.byteLength(entry) + 1
      if (bytes > this.#options.bytesMax) break
      entries.push(entry)
    }
    return `{${entries.join(',')}}`
  }

  /** The first line. It has a digest of the rest, because a damaged file may still be valid JSON. */
  #headOf(body: string): string {
    this.#program ??= this.#options.program()
    return `toolrack definition files ${this.#program} ${createHash('sha256').update(body).digest('hex')}`
  }
}
