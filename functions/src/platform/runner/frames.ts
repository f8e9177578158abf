import { ANSWER_BYTES_MAX, type RunnerAnswer } from './runner-request.ts'
import { invalid } from './line-splitter.ts'

/**
 * The frames between this service and a runner on the same machine, over a Unix socket. A frame is the length of its payload, as
 * an unsigned big-endian number of four bytes, its kind in one byte, and the payload.
 * `python-runner/toolrack_runner/server/frames/frame.py` describes each kind.
 */
const KIND = { hello: 1, invoke: 2, batch: 3, event: 4, answer: 5 } as const

/** The version of the frames. A runner that speaks another one refuses HELLO. */
export const VERSION = 1

const HEADER_BYTES = 5

/** The bytes of an EVENT before its lines: the index of the call. */
const EVENT_HEAD_BYTES = 2
/** The bytes of an ANSWER before its JSON: the index of the call, the HTTP status, and the seconds until a retry. */
const ANSWER_HEAD_BYTES = 6

/** The most bytes of a frame, by its kind. The runner cuts the lines of events into parts of 64 KiB. */
const BYTES_MAX: ReadonlyMap<number, number> = new Map([
  [KIND.event, EVENT_HEAD_BYTES + 64 * 1024],
  [KIND.answer, ANSWER_HEAD_BYTES + ANSWER_BYTES_MAX['/invoke']],
])

/** Lines of the events of a call, whole or in part. */
type EventFrame = { readonly index: number; readonly lines: Buffer }

/** The answer to a call. */
export type AnswerFrame = { readonly index: number } & Omit<RunnerAnswer, 'refusal'>

/** The first frame of a connection. */
export function helloFrame(secret: string): Buffer {
  return frame(KIND.hello, Buffer.concat([Buffer.of(VERSION), Buffer.from(secret)]))
}

/** The most calls of a batch. The runner refuses more. A dispatch runs eight calls at once. */
export const BATCH_CALLS_MAX = 64
/** The most bytes of a request. The runner refuses more. It has the same limit for the body of a request over HTTP. */
export const REQUEST_BYTES_MAX = 4 * 1024 * 1024

/** One call or several calls. Each body is the same as that of `POST /invoke`. */
export function requestFrame(bodies: readonly string[]): Buffer {
  const isBatch = bodies.length > 1
  const lengths = bodies.map((body) => Buffer.byteLength(body))
  const length = lengths.reduce((sum, each) => sum + each, isBatch ? 4 * bodies.length : 0)
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length)
  bytes.writeUInt32BE(length)
  let at = bytes.writeUInt8(isBatch ? KIND.batch : KIND.invoke, 4)
  for (const [index, body] of bodies.entries()) {
    if (isBatch) at = bytes.writeUInt32BE(lengths[index] ?? 0, at)
    at += bytes.write(body, at)
  }
  return bytes
}

function frame(kind: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(payload.length)
  header.writeUInt8(kind, 4)
  return Buffer.concat([header, payload])
}

/** Splits the bytes of a connection into frames. The bytes may arrive in parts of any size. Throws for a frame that is not valid. */
export class FrameReader {
  #parts: Buffer[] = []
  #bytes = 0
  /** How many bytes are needed before anything can be read: a header, or the whole frame. */
  #needed = HEADER_BYTES

  /** True if a frame has arrived only in part. */
  get hasRest(): boolean {
    return this.#bytes > 0
  }

  /** Takes the next bytes, and gives each frame that they complete. */
  *take(piece: Buffer): Generator<EventFrame | AnswerFrame> {
    this.#parts.push(piece)
    this.#bytes += piece.length
    while (this.#bytes >= this.#needed) {
      const held = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
      const end = HEADER_BYTES + lengthOf(held)
      this.#parts = [held]
      this.#needed = end
      if (held.length < end) return
      const rest = held.subarray(end)
      this.#parts = rest.length > 0 ? [rest] : []
      this.#bytes = rest.length
      this.#needed = HEADER_BYTES
      yield read(held.subarray(0, end))
    }
  }
}

/** The length of the frame that begins here. Throws if the runner may not send such a frame. */
function lengthOf(held: Buffer): number {
  const kind = held.readUInt8(4)
  const length = held.readUInt32BE()
  const bytesMax = BYTES_MAX.get(kind)
  if (bytesMax === undefined) throw invalid(`a frame has the unknown kind ${kind}`)
  if (length > bytesMax) throw invalid(`a frame has more than ${bytesMax} bytes`)
  if (length < (kind === KIND.event ? EVENT_HEAD_BYTES : ANSWER_HEAD_BYTES))
    throw invalid('a frame is too short')
  return length
}

function read(whole: Buffer): EventFrame | AnswerFrame {
  const index = whole.readUInt16BE(HEADER_BYTES)
  if (whole.readUInt8(4) === KIND.event)
    return { index, lines: whole.subarray(HEADER_BYTES + EVENT_HEAD_BYTES) }
  const retryAfterSeconds = whole.readUInt16BE(HEADER_BYTES + 4) || undefined
  const text = whole.toString('utf8', HEADER_BYTES + ANSWER_HEAD_BYTES)
  return { index, httpStatus: whole.readUInt16BE(HEADER_BYTES + 2), retryAfterSeconds, text }
}
