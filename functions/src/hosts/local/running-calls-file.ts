import { isJsonObject, parsedJson } from '@toolrack/contract'
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import type { Note, RunningCalls } from '../../features/audit/running-calls.ts'
import type { Log } from '../../log.ts'
import { UNFINISHED } from '../../write-whole-file.ts'

/** The file in the data folder that names the calls and writes that are running. */
export const RUNNING_CALLS = 'running-calls'

/**
 * The most bytes of the file before it is written again, with only the running calls and writes. They are enough for a few
 * hundred calls.
 */
const BYTES_MAX = 256 * 1024

/**
 * A file that names the calls and writes that are running. Before each of them runs, the file gets a line, which also names the
 * calls that have ended since the line before. So a call costs only one write. The line is in the page cache when the write
 * returns. If the process is killed, no line is lost. A power cut may lose the last lines.
 */
export class RunningCallsFile implements RunningCalls {
  readonly left: readonly Note[]
  readonly #path: string
  readonly #log: Pick<Log, 'error'>
  readonly #running: Map<string, Note>
  #ended: string[] = []
  #file: number
  #bytes: number
  #bytesMax = BYTES_MAX
  #isFailing = false

  /**
   * Reads the file or makes it. Throws the error of the system if the file cannot be read or written. Lines that cannot be read
   * are left out.
   */
  constructor(path: string, log: Pick<Log, 'error'>) {
    this.#path = path
    this.#log = log
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    const bytes = readFileSync(this.#file)
    // An incomplete last line, which a killed process may have left, is cut off.
    this.#bytes = bytes.lastIndexOf('\n') + 1
    ftruncateSync(this.#file, this.#bytes)
    this.#running = notesIn(bytes.toString('utf8', 0, this.#bytes))
    this.left = [...this.#running.values()]
  }

  begin = (note: Note): void => {
    this.#running.set(note.id, note)
    this.#attempt(() => {
      if (this.#bytes > this.#bytesMax && this.#isRewritten()) return
      this.#bytes += writeSync(this.#file, lineOf(note, this.#ended), this.#bytes)
      this.#ended = []
    })
  }

  end = (id: string): void => {
    if (this.#running.delete(id)) this.#ended.push(id)
  }

  forgetEnded = (): void => {
    this.#attempt(() => {
      const old = this.#rewrite()
      const { size } = fstatSync(old)
      writeSync(old, Buffer.alloc(size), 0, size, 0)
      closeSync(old)
    })
  }

  close = (): void => {
    this.#attempt(() => closeSync(this.#rewrite()))
    closeSync(this.#file)
  }

  /** Writes the file again. Returns false if the disk is full. Then the old file may still have room for another line. */
  #isRewritten(): boolean {
    try {
      closeSync(this.#rewrite())
      return true
    } catch {
      return false
    }
  }

  /**
   * Writes the running calls and writes to a new file, which replaces the old one. Returns the file descriptor of the old file,
   * which the caller must close.
   */
  #rewrite(): number {
    const text = [...this.#running.values()].map((note) => lineOf(note, [])).join('')
    const file = openSync(this.#path + UNFINISHED, 'w+', 0o600)
    try {
      this.#bytes = writeSync(file, text)
      renameSync(this.#path + UNFINISHED, this.#path)
    } catch (error) {
      closeSync(file)
      throw error
    }
    const old = this.#file
    this.#file = file
    this.#ended = []
    this.#bytesMax = Math.max(BYTES_MAX, 2 * this.#bytes)
    return old
  }

  #attempt(act: () => void): void {
    try {
      act()
      this.#isFailing = false
    } catch (error) {
      const { message: reason } = error as Error
      if (!this.#isFailing)
        this.#log.error('calls that run cannot be noted; if the service is killed now, they have no record', {
          path: this.#path,
          reason,
        })
      this.#isFailing = true
    }
  }
}

function lineOf({ id, text }: Note, ended: readonly string[]): string {
  return `{"ended":${JSON.stringify(ended)},"id":${JSON.stringify(id)},"note":${text}}\n`
}

/** The notes of calls and writes that have not ended, in the order of their lines. */
function notesIn(text: string): Map<string, Note> {
  const notes = new Map<string, Note>()
  for (const line of text.split('\n')) {
    const parsed = parsedJson(line)
    if (!isJsonObject(parsed)) continue
    const { ended, id, note } = parsed
    if (Array.isArray(ended)) for (const one of ended) notes.delete(String(one))
    if (typeof id === 'string') notes.set(id, { id, text: JSON.stringify(note ?? null) })
  }
  return notes
}
