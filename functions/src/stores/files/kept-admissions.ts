import { createHash } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import type { Log } from '../../log.ts'
import { parseObject } from '../../parse-object.ts'
import { keptFile, readKeptFile } from './kept-file.ts'
import { readBytes } from './read-bytes.ts'
import type { DefinitionFile } from './read-definition-file.ts'

/**
 * The most bytes that are kept. They are enough for about 40,000 definitions. Files for which there is no room are checked at
 * every start.
 */
const KEPT_BYTES_MAX = 32 * 1024 * 1024

type Options = {
  readonly path: string
  /** Returns a text that identifies the code of this program. Admissions that other code has stored are not used. */
  readonly program: () => string
  readonly log: Pick<Log, 'warn'>
  readonly bytesMax?: number
}

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/**
 * Keeps the admitted definitions of the definition files from one start to the next, so that a start does not compile every
 * schema again. The file is only a cache. If it is missing, damaged, too large, or written by another program, it is ignored and
 * written again.
 */
export class KeptAdmissions {
  readonly #options: Options & { readonly bytesMax: number }
  #program: string | undefined
  /** What an earlier start has kept, by key. Undefined until it is needed. */
  #earlier: ReadonlyMap<string, unknown> | undefined
  /** The keys of the files whose definitions are kept now. */
  #keys = new Set<string>()
  #writing = Promise.resolve()

  constructor(options: Options) {
    this.#options = { bytesMax: KEPT_BYTES_MAX, ...options }
  }

  /**
   * The definitions of the file with this key, as an earlier start has kept them. Undefined if they were not kept, or if the kept
   * data break a rule.
   */
  find(key: string, source: string): DefinitionFile | undefined {
    this.#earlier ??= this.#read()
    const kept = this.#earlier.get(key)
    if (kept === undefined) return undefined
    const file = readKeptFile(kept, source)
    if (file) return { ...file, key }
    this.#keys.delete(key)
    return undefined
  }

  /** Keeps the definitions of these files and no others. Writes only if the keys differ from those that are kept already. */
  keep(files: readonly DefinitionFile[]): void {
    const present = new Map(files.flatMap((file) => (file.key === undefined ? [] : [[file.key, file]])))
    this.#earlier = NOTHING
    if (present.size === this.#keys.size && [...present.keys()].every((key) => this.#keys.has(key))) return
    this.#keys = new Set(present.keys())
    this.#writing = this.#writing.then(() => this.#write(present))
  }

  /** Resolves when no write is running. */
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

  /** Writes a new file beside the old one, and then renames it, so that no start finds an incomplete file. */
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
    // 1,024 bytes are reserved for the first line of the file.
    let bytes = 1_024
    for (const [key, file] of files) {
      const entry = `"${key}":${JSON.stringify(keptFile(file))}`
      bytes += Buffer.byteLength(entry) + 1
      if (bytes > this.#options.bytesMax) break
      entries.push(entry)
    }
    return `{${entries.join(',')}}`
  }

  /** The first line of the file. It contains a digest of the rest, because a damaged file can still be valid JSON. */
  #headOf(body: string): string {
    this.#program ??= this.#options.program()
    return `toolrack definition files ${this.#program} ${createHash('sha256').update(body).digest('hex')}`
  }
}
