import { isUtf8 } from 'node:buffer'
import { parseObject } from '../../parse-object.ts'
import { cutMember } from '../../json/cut-member.ts'
import { JsonText } from '../../json/json-text.ts'
import type { PrintedLog, RunnerEvent, RunnerListener } from '../../catalog/definitions/runner.ts'

export const EVENTS_TYPE = 'application/x-ndjson'

/** The most bytes of one line. The longest line is the outcome. It can be as long as the answer to a call without events. */
const LINE_BYTES_MAX = 2_097_152

/**
 * The most bytes of all lines together, except lines about progress. The lines are not kept. The limit is against a runner whose
 * answer never ends.
 */
const EVENTS_BYTES_MAX = 16_777_216

/** The most bytes of printed text that are kept, for the case that a call gets no outcome. The runner has the same limit. */
const PRINTED_BYTES_MAX = 65_536

const NEW_LINE = 0x0a

const THE_OUTCOME = 'the outcome'

/**
 * Reads a runner's answer that contains events, line by line. The bytes may arrive in parts of any size. Throws if the answer is
 * not valid.
 */
export class EventReader {
  readonly #listen: RunnerListener | undefined
  #parts: Buffer[] = []
  #lineBytes = 0
  #bytes = 0
  #lines = 0
  #outcome: string | undefined
  #printed = ''
  #printedBytes = 0
  #isCut = false
  /** True if the listener has made this reader wait at least once. */
  hasWaited = false

  constructor(listen?: RunnerListener) {
    this.#listen = listen
  }

  /** The text that the tool has printed until now. Undefined if it has printed nothing. */
  get log(): PrintedLog | undefined {
    return this.#printed === '' ? undefined : { text: this.#printed, truncated: this.#isCut }
  }

  /** Takes the next bytes. If the listener wants to wait, returns a promise. The promise never rejects. */
  take(piece: Buffer): Promise<void> | undefined {
    let waiting: Promise<void> | undefined
    let start = 0
    for (let end = piece.indexOf(NEW_LINE); end !== -1; end = piece.indexOf(NEW_LINE, start)) {
      this.#keep(piece.subarray(start, end))
      waiting = this.#endLine() ?? waiting
      start = end + 1
    }
    this.#keep(piece.subarray(start))
    if (waiting) this.hasWaited = true
    return waiting
  }

  /**
   * The outcome of the call, as text. It has the fields of an answer without events, and the field `event`. Throws if the runner
   * has sent no outcome.
   */
  end(): string {
    if (this.#lineBytes > 0) throw invalid('it ends in the middle of a line')
    if (this.#outcome === undefined) throw invalid('it has no outcome')
    return this.#outcome
  }

  #keep(part: Buffer): void {
    this.#lineBytes += part.length
    if (this.#lineBytes > LINE_BYTES_MAX) throw invalid(`a line has more than ${LINE_BYTES_MAX} bytes`)
    if (part.length > 0) this.#parts.push(part)
  }

  #endLine(): Promise<void> | undefined {
    const line = Buffer.concat(this.#parts)
    this.#parts = []
    this.#lineBytes = 0
    this.#lines += 1
    if (!isUtf8(line)) throw invalid(`line ${this.#lines} is not UTF-8`)
    if (this.#outcome !== undefined) throw invalid('a line follows the outcome')
    const text = line.toString()
    const event = eventIn(text)
    if (event === THE_OUTCOME) {
      this.#outcome = text
      return undefined
    }
    if (!event) throw invalid(`line ${this.#lines} is no event`)
    if (event.type !== 'progress') this.#bytes += line.length
    if (this.#bytes > EVENTS_BYTES_MAX) throw invalid(`its events have more than ${EVENTS_BYTES_MAX} bytes`)
    if (event.type === 'log') this.#print(event.text)
    return this.#listen?.(event)
  }

  #print(text: string): void {
    this.#printedBytes += Buffer.byteLength(text)
    if (this.#printedBytes <= PRINTED_BYTES_MAX) this.#printed += text
    else this.#isCut = true
  }
}

/** Reads the event in a line. Values stay texts, because parsing them may take tens of milliseconds. */
function eventIn(line: string): RunnerEvent | typeof THE_OUTCOME | undefined {
  const { rest, cut } = cutMember(line, 'value') ?? { rest: '' }
  const { event, text, fraction } = parseObject(rest) ?? {}
  if (event === 'outcome') return THE_OUTCOME
  if (event === 'value') return cut === undefined ? undefined : { type: 'value', value: new JsonText(cut) }
  if (typeof text !== 'string') return undefined
  if (event === 'log') return { type: 'log', text }
  return event === 'progress' && typeof fraction === 'number'
    ? { type: 'progress', fraction, text }
    : undefined
}

/** The error for an answer that is not valid. Its message can follow the words "The runner". */
function invalid(fault: string): Error {
  return new Error(`sent an answer that is not valid (${fault})`)
}
