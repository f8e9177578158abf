import { parseObject } from '../../parse-object.ts'
import { cutMember } from '../../json/cut-member.ts'
import { JsonText } from '../../json/json-text.ts'
import { invalid, LineSplitter } from './line-splitter.ts'
import { ANSWER_BYTES_MAX } from './runner-request.ts'
import type { PrintedLog, RunnerEvent, RunnerListener } from '../../catalog/definitions/runner.ts'

export const EVENTS_TYPE = 'application/x-ndjson'

/** The most bytes of one line. The longest line is the outcome. It can be as long as the answer to a call without events. */
const LINE_BYTES_MAX = ANSWER_BYTES_MAX['/invoke'] + 64

/**
 * The most bytes of all lines together, except lines about progress. The lines are not kept. The limit is against a runner whose
 * answer never ends. The values of a generator are together no larger than a result: 9 MiB as JSON.
 */
const EVENTS_BYTES_MAX = 16_777_216

/** The most bytes of printed text that are kept, for the case that a call gets no outcome. The runner has the same limit. */
const PRINTED_BYTES_MAX = 65_536

const THE_OUTCOME = 'the outcome'
/** How the runner begins the line of the outcome. */
const OUTCOME_START = '{"event":"outcome",'

/**
 * Reads a runner's answer that contains events, line by line. The bytes may arrive in parts of any size. Throws if the answer is
 * not valid.
 */
export class EventReader {
  readonly #listen: RunnerListener | undefined
  readonly #lines = new LineSplitter(LINE_BYTES_MAX)
  #bytes = 0
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
    for (const line of this.#lines.take(piece)) waiting = this.#endLine(line) ?? waiting
    if (waiting) this.hasWaited = true
    return waiting
  }

  /**
   * The outcome of the call, as text. It has the fields of an answer without events, and the field `event`. Throws if the runner
   * has sent no outcome.
   */
  end(): string {
    this.endOfLines()
    if (this.#outcome === undefined) throw invalid('it has no outcome')
    return this.#outcome
  }

  /** Throws if the events have ended in the middle of a line. */
  endOfLines(): void {
    this.#lines.end()
  }

  #endLine(text: string): Promise<void> | undefined {
    if (this.#outcome !== undefined) throw invalid('a line follows the outcome')
    const event = eventIn(text)
    if (event === THE_OUTCOME) {
      this.#outcome = text
      return undefined
    }
    if (!event) throw invalid(`line ${this.#lines.count} is no event`)
    if (event.type !== 'progress') this.#bytes += Buffer.byteLength(text)
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
  // The outcome may have images of megabytes, so it is parsed only once, when its fields are read.
  if (line.startsWith(OUTCOME_START)) return THE_OUTCOME
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
