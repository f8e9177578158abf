import { isJsonObject, parsedJson } from '@toolrack/contract'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'

/** The suffix of the name of the file, beside the database to which it belongs. */
export const NEWEST = '-newest'

/**
 * A file with the newest rows of a database, which are not in the database yet. Each line has a number and the JSON text of a row.
 * To add a line takes a tenth of the time of a transaction, so a call waits for this, and many lines become rows in one
 * transaction. A line is in the page cache when `add` returns, so a killed process loses none. A power cut may lose the last ones.
 *
 * The lines between two `clear` are a batch, and all have its number. They overwrite the lines of the batch before. So the file
 * keeps its pages, and a write does not wait for new ones. After a kill, the file may have lines that are already rows.
 */
export class NewestLines {
  /** The texts that an earlier process has left, the oldest first. */
  readonly left: readonly string[]
  readonly #file: number
  #batch = 1
  #bytes = 0

  /**
   * Reads the file or makes it. Throws the error of the system. A line that was cut off ends the batch. So does a line that
   * `isTaken` refuses: it and the lines after it are dropped, and the next lines overwrite them.
   */
  constructor(database: string, isTaken: (text: string) => boolean = () => true) {
    this.#file = openSync(database + NEWEST, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      this.left = this.#read(isTaken)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  /** Adds lines. Returns false, and adds none, if the file cannot take all of them, for example on a full disk. */
  add(...texts: readonly string[]): boolean {
    const lines = Buffer.from(texts.map((text) => `${this.#batch} ${text}\n`).join(''))
    try {
      if (writeSync(this.#file, lines, 0, lines.length, this.#bytes) < lines.length) return false
    } catch {
      return false
    }
    this.#bytes += lines.length
    return true
  }

  /** Begins a new batch. The rows of the batch before must be in the database. */
  clear(): void {
    this.#batch += 1
    this.#bytes = 0
  }

  /** Overwrites all lines on the disk. Their rows must be in the database, or erased. */
  wipe(): void {
    // The size is asked for, because a second read of the file would go on where the first one ended.
    const zeros = Buffer.alloc(fstatSync(this.#file).size)
    let done = 0
    while (done < zeros.length) done += writeSync(this.#file, zeros, done, zeros.length - done, done)
    // Before the zeros are on the disk, a cut would free pages that still have the lines.
    fsyncSync(this.#file)
    ftruncateSync(this.#file)
    this.clear()
  }

  close(): void {
    closeSync(this.#file)
  }

  #read(isTaken: (text: string) => boolean): readonly string[] {
    const left: string[] = []
    for (const line of readFileSync(this.#file, 'utf8').split('\n')) {
      const { batch, text = '' } = LINE.exec(line)?.groups ?? {}
      if (!isJsonObject(parsedJson(text)) || (left.length > 0 && Number(batch) !== this.#batch)) break
      if (!isTaken(text)) break
      this.#batch = Number(batch)
      this.#bytes += Buffer.byteLength(line) + 1
      left.push(text)
    }
    return left
  }
}

const LINE = /^(?<batch>\d+) (?<text>\{.*\})$/s
