import { isUtf8 } from 'node:buffer'

const NEW_LINE = 0x0a

/** Splits an answer with events into its lines. The bytes may arrive in parts of any size. Throws if the answer is not valid. */
export class LineSplitter {
  readonly #bytesMax: number
  #parts: Buffer[] = []
  #bytes = 0
  #lines = 0

  /** `bytesMax` is the most bytes of one line. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The number of lines so far. */
  get count(): number {
    return this.#lines
  }

  /** Takes the next bytes, and gives each line that they complete. */
  *take(piece: Buffer): Generator<string> {
    let start = 0
    for (let end = piece.indexOf(NEW_LINE); end !== -1; end = piece.indexOf(NEW_LINE, start)) {
      this.#keep(piece.subarray(start, end))
      yield this.#line()
      start = end + 1
    }
    this.#keep(piece.subarray(start))
  }

  /** Throws if the answer has ended in the middle of a line. */
  end(): void {
    if (this.#bytes > 0) throw invalid('it ends in the middle of a line')
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > this.#bytesMax) throw invalid(`a line has more than ${this.#bytesMax} bytes`)
    if (part.length > 0) this.#parts.push(part)
  }

  #line(): string {
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#lines += 1
    if (!isUtf8(line)) throw invalid(`line ${this.#lines} is not UTF-8`)
    return line.toString()
  }
}

/** The error for an answer that is not valid. Its message can follow the words "The runner". */
export function invalid(fault: string): Error {
  return new Error(`sent an answer that is not valid (${fault})`)
}
