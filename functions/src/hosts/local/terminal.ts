import { constants, openSync, write, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { promisify } from 'node:util'

/**
 * The most UTF-16 code units that may wait for the terminal. If more wait, lines about calls are left out, and a line says how
 * many.
 */
const WAITING_CALLS_MAX = 256 * 1024

/** The same limit for lines of the log, which are fewer and more important. */
const WAITING_MAX = 1024 * 1024

/** The milliseconds until the next attempt to write, if the terminal took nothing. */
const AGAIN_MS = 50

const writeLater = promisify(write)

/** A stream with the present number of columns. A pipe or a file has no columns. */
type Stream = { readonly fd: number; readonly columns?: number }

/**
 * The terminal of the operator, or the pipe or file in its place. A write never blocks the service. With Node's own `write`, the
 * whole service would wait while somebody has stopped the terminal or its connection hangs.
 */
export class Terminal {
  readonly #stream: Stream
  readonly #fd: number
  /** True if a write could block. Then it is done in another thread. */
  readonly #canWait: boolean
  #waiting = ''
  /** The bytes that are being written. */
  #bytes = Buffer.alloc(0)
  #leftOut = 0
  #isWriting = false

  constructor(stream: Stream) {
    this.#stream = stream
    const { fd, canWait } = withoutWaiting(stream.fd)
    this.#fd = fd
    this.#canWait = canWait
    process.once('exit', () => this.#end())
  }

  /**
   * The width of the terminal. For a pipe or a file it is the usual width, because somebody will probably read it in a terminal.
   */
  get columns(): number {
    return this.#stream.columns || 80
  }

  /** Writes a line of the log. If too much text waits already, the line is left out. */
  write(lines: string): void {
    if (this.#waiting.length + lines.length > WAITING_MAX) this.#leftOut += 1
    else this.#add(lines)
  }

  /** Writes the lines about a call. If too much text waits, such lines are left out until everything is written. */
  writeCall(lines: string): void {
    if (this.#leftOut > 0 || this.#waiting.length + lines.length > WAITING_CALLS_MAX) this.#leftOut += 1
    else this.#add(lines)
  }

  #add(lines: string): void {
    this.#waiting += lines
    if (!this.#isWriting) void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting !== '') {
      this.#bytes = Buffer.from(this.#waiting)
      this.#waiting = ''
      while (this.#bytes.length > 0) {
        const later = this.#writeSome()
        if (later) await later
      }
      if (this.#waiting === '') this.#waiting = this.#gap()
    }
    this.#isWriting = false
  }

  /** The line that says how many lines were left out. Empty if none were. */
  #gap(): string {
    const count = this.#leftOut
    this.#leftOut = 0
    return count === 0 ? '' : `      … ${count} more entries; this terminal was too slow to show them\n`
  }

  /**
   * Writes the next bytes. Returns a promise only if the write has to wait. So usually the line is written when this method
   * returns.
   */
  #writeSome(): Promise<void> | undefined {
    const bytes = this.#bytes
    if (this.#canWait)
      return writeLater(this.#fd, bytes).then(
        ({ bytesWritten }) => void (this.#bytes = bytes.subarray(bytesWritten)),
        (error: unknown) => this.#tryAgain(error),
      )
    try {
      this.#bytes = bytes.subarray(writeSync(this.#fd, bytes))
      return undefined
    } catch (error) {
      return this.#tryAgain(error)
    }
  }

  /**
   * What happens after an error of a write. If the terminal takes nothing now, waits. If it is gone, or the disk is full, the
   * bytes are lost and the service goes on.
   */
  #tryAgain(error: unknown): Promise<void> | undefined {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return pause(AGAIN_MS, undefined, { ref: false })
    this.#bytes = Buffer.alloc(0)
    return undefined
  }

  /** Writes as much as the terminal takes without waiting. Must be called before the process ends. */
  #end(): void {
    if (this.#canWait) return
    try {
      writeSync(this.#fd, Buffer.concat([this.#bytes, Buffer.from(this.#waiting)]))
    } catch {
      // The terminal takes nothing, so the rest is lost.
    }
  }
}

/**
 * A descriptor of the same file whose writes do not block. `canWait` is true if there is none. Writes to a file or to a pipe of
 * Node do not block anyway. A terminal is opened again, because other programs share its descriptor and expect that writes block.
 */
function withoutWaiting(fd: number): { readonly fd: number; readonly canWait: boolean } {
  if (!isatty(fd)) return { fd, canWait: false }
  // On other systems, opening the path gives the same open file again, so the flag would have no effect.
  if (process.platform !== 'linux') return { fd, canWait: true }
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    return { fd: openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY), canWait: false }
  } catch {
    // The terminal cannot be opened, because it belongs to another account.
    return { fd, canWait: true }
  }
}
