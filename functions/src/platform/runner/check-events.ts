import { parseObject } from '../../parse-object.ts'
import { invalid, LineSplitter } from './line-splitter.ts'

/** The most bytes of one line. The longest line is the report. It can be as long as the answer to a check without events. */
const LINE_BYTES_MAX = 4 * 1024 * 1024

/** The most characters of a sentence about the progress. The rest is cut off, because the sentence is one line of a terminal. */
const TEXT_LENGTH_MAX = 500

/**
 * The most lines about progress. The runner sends about one in a second, so this is more than a day. The limit is against a runner
 * whose answer never ends.
 */
const PROGRESS_MAX = 100_000

/** Reads a runner's answer to a check that contains events, line by line. Throws if the answer is not valid. */
export class CheckEvents {
  readonly #onProgress: (text: string) => void
  readonly #lines = new LineSplitter(LINE_BYTES_MAX)
  #last: string | undefined

  constructor(onProgress: (text: string) => void) {
    this.#onProgress = onProgress
  }

  take(piece: Buffer): undefined {
    for (const line of this.#lines.take(piece)) {
      if (this.#last !== undefined) throw invalid('a line follows the report')
      if (this.#lines.count > PROGRESS_MAX) throw invalid(`it has more than ${PROGRESS_MAX} lines`)
      const { event, text } = parseObject(line) ?? {}
      if (event === 'report' || event === 'error') this.#last = line
      else if (event === 'progress' && typeof text === 'string')
        this.#onProgress(text.slice(0, TEXT_LENGTH_MAX))
      else throw invalid(`line ${this.#lines.count} is no event`)
    }
  }

  /** The last line, which is the report or an error. Throws if the runner has sent none. */
  end(): string {
    this.#lines.end()
    if (this.#last === undefined) throw invalid('it has no report')
    return this.#last
  }
}
