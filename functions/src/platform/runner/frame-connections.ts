import { connect, type Socket } from 'node:net'
import { marked } from '../../running-work.ts'
import { answerClock, type AnswerClock } from './answer-clock.ts'
import { BATCH_CALLS_MAX, FrameReader, helloFrame, REQUEST_BYTES_MAX, requestFrame } from './frames.ts'
import type { AnswerFrame } from './frames.ts'
import { invalid } from './line-splitter.ts'
import { refusalBy, STOPPED, whyNoAnswer } from './runner-request.ts'
import type { NoAnswer, RunnerAnswer, RunnerEndpoint, RunnerRequest } from './runner-request.ts'

/** An endpoint with a socket for frames. */
export type FrameEndpoint = RunnerEndpoint & { readonly socket: string }

/**
 * How many milliseconds an idle connection is kept. The runner closes an idle connection after 30 seconds. A call that is sent at
 * that moment would fail.
 */
const IDLE_MS = 20_000

/** The most idle connections. A runner runs 8 calls at once by default, and another connection takes only a tenth of a millisecond. */
const IDLE_MAX = 64

/** Connections to runners on this machine, for calls. Each makes one request at a time, and is then kept for the next. */
export class FrameConnections {
  readonly #all = new Set<FrameConnection>()
  /** The connection that was used last is the last. */
  readonly #idle: FrameConnection[] = []
  #sweeping: NodeJS.Timeout | undefined
  /** The batches of this turn of the event loop, by the signals of their callers. */
  readonly #batches = new Map<AbortSignal, Batch>()

  /** Sends a call, never twice. Calls of one batch that are made in the same turn of the event loop go together. */
  ask(endpoint: FrameEndpoint, request: RunnerRequest): Promise<RunnerAnswer | NoAnswer> {
    const call = new FrameCall(request)
    const { signal } = request
    if (!signal || !request.isOfBatch) {
      this.#take(endpoint).send(endpoint, [call])
      return call.answer
    }
    const batch = this.#batches.get(signal)
    if (batch?.endpoint === endpoint.socket && batch.takes(request)) {
      batch.calls.push(call)
      return call.answer
    }
    const made = new Batch(endpoint.socket, call)
    this.#batches.set(signal, made)
    // The callbacks of promises run before this one, so it finds all calls that are ready.
    process.nextTick(() => {
      if (this.#batches.get(signal) === made) this.#batches.delete(signal)
      if (!signal.aborted) return this.#take(endpoint).send(endpoint, made.calls)
      for (const each of made.calls) each.end({ wasSent: false, ...STOPPED })
    })
    return call.answer
  }

  close(): void {
    clearTimeout(this.#sweeping)
    for (const connection of this.#all) connection.close()
  }

  #take({ socket: path, secret = '' }: FrameEndpoint): FrameConnection {
    const oldestMs = performance.now() - IDLE_MS
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      if (kept.path === path && kept.idleSinceMs > oldestMs && kept.isOpen) return kept
      kept.close()
    }
    const made = new FrameConnection(path, secret, {
      isFree: () => this.#keep(made),
      hasEnded: () => this.#forget(made),
    })
    this.#all.add(made)
    return made
  }

  #keep(connection: FrameConnection): void {
    if (this.#idle.length >= IDLE_MAX) connection.close()
    else this.#idle.push(connection)
    this.#sweeping ??= setTimeout(() => this.#sweep(), IDLE_MS).unref()
  }

  #forget(connection: FrameConnection): void {
    this.#all.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  #sweep(): void {
    const oldestMs = performance.now() - IDLE_MS
    // The connection that was used last is the last. `close` removes a connection from the list.
    for (let first = this.#idle[0]; first && first.idleSinceMs <= oldestMs; [first] = this.#idle)
      first.close()
    this.#sweeping = this.#idle.length > 0 ? setTimeout(() => this.#sweep(), IDLE_MS).unref() : undefined
  }
}

type Owner = {
  /** Called when the connection can take the next request. */
  readonly isFree: () => void
  readonly hasEnded: () => void
}

/** Calls that go together. */
class Batch {
  readonly endpoint: string
  readonly calls: FrameCall[]
  #bytes: number

  constructor(endpoint: string, first: FrameCall) {
    this.endpoint = endpoint
    this.calls = [first]
    this.#bytes = bytesOf(first.request)
  }

  /** Whether there is room for another call. If so, counts it. */
  takes(request: RunnerRequest): boolean {
    const bytes = this.#bytes + bytesOf(request)
    if (this.calls.length === BATCH_CALLS_MAX || bytes > REQUEST_BYTES_MAX) return false
    this.#bytes = bytes
    return true
  }
}

/** The bytes of a call in a batch: its body, and its length. */
function bytesOf({ body }: RunnerRequest): number {
  return Buffer.byteLength(body) + 4
}

/** A call that waits for its answer. */
class FrameCall {
  readonly request: RunnerRequest
  readonly answer: Promise<RunnerAnswer | NoAnswer>
  readonly clock: AnswerClock
  readonly #settle: (answer: RunnerAnswer | NoAnswer) => void
  /** Called when the call is not answered in time. */
  onLate: (fault: Error) => void = () => undefined

  constructor(request: RunnerRequest) {
    this.request = request
    const { promise, resolve } = Promise.withResolvers<RunnerAnswer | NoAnswer>()
    this.answer = promise
    this.#settle = resolve
    this.clock = answerClock({ destroy: (fault) => this.onLate(fault) }, request)
  }

  end(answer: RunnerAnswer | NoAnswer): void {
    this.clock.stop()
    this.#settle(answer)
  }
}

/** The errors of a socket to which no connection was made. */
const UNREACHED: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED'])

class FrameConnection {
  readonly path: string
  idleSinceMs = 0
  readonly #socket: Socket
  readonly #owner: Owner
  readonly #frames = new FrameReader()
  /** HELLO, until it is sent in front of the first request. */
  #hello: Buffer | undefined
  #endpoint: RunnerEndpoint | undefined
  /** The calls of the present request that are not answered, by their indexes. */
  #calls = new Map<number, FrameCall>()
  /** The calls of the present request that were given up. The connection is closed after the others. */
  readonly #late = new Set<number>()
  #take: (piece: Buffer) => void = () => undefined
  #stop: () => void = () => undefined
  #hasFailed = false

  constructor(path: string, secret: string, owner: Owner) {
    this.path = path
    this.#owner = owner
    this.#hello = helloFrame(secret)
    this.#socket = connect({ path })
    this.#socket.on('data', (piece: Buffer) => this.#take(piece))
    this.#socket.on('error', (error) => this.#end(error))
    this.#socket.on('close', () =>
      this.#end(Object.assign(new Error('The connection was closed.'), { code: 'ECONNRESET' })),
    )
  }

  /** False if the runner has closed the connection. */
  get isOpen(): boolean {
    return this.#socket.writable && !this.#socket.readableEnded
  }

  close(): void {
    this.#end(Object.assign(new Error('The connection was closed.'), { code: 'ECONNRESET' }))
  }

  /** Sends one call, or several as a batch. The answer of each settles it. */
  send(endpoint: FrameEndpoint, calls: readonly FrameCall[]): void {
    this.#socket.ref()
    this.#endpoint = endpoint
    this.#calls = new Map(calls.entries())
    for (const [index, call] of calls.entries()) call.onLate = (fault) => this.#giveUp(index, call, fault)
    const signal = calls[0]?.request.signal
    const stop = (): void => this.#end(signal?.reason as Error)
    signal?.addEventListener('abort', stop)
    this.#stop = () => signal?.removeEventListener('abort', stop)
    this.#take = marked((piece) => this.#hear(piece))
    const frame = requestFrame(calls.map(({ request }) => request.body))
    const bytes = this.#hello ? Buffer.concat([this.#hello, frame]) : frame
    this.#hello = undefined
    this.#socket.write(bytes, (error) => (this.#hasFailed ||= Boolean(error)))
  }

  #hear(piece: Buffer): void {
    const answers = new Map<number, AnswerFrame>()
    try {
      for (const frame of this.#frames.take(piece)) {
        const call = this.#calls.get(frame.index)
        if (answers.has(frame.index) || (!call && !this.#late.has(frame.index)))
          throw invalid('a frame belongs to no call')
        if (!call) continue
        const { events } = call.request
        if ('text' in frame) {
          events?.endOfLines?.()
          answers.set(frame.index, frame)
        } else this.#waitFor(events?.take(frame.lines))
      }
      if (answers.size === this.#calls.size && this.#frames.hasRest)
        throw invalid('something follows the answer')
    } catch (error) {
      this.#end(error as Error)
      return
    }
    for (const answer of answers.values()) this.#settle(answer)
    if (this.#calls.size === 0) this.#release()
  }

  /** Reads nothing more until a listener of the events has taken them. So the runner has to wait too. */
  #waitFor(waiting: Promise<void> | undefined): void {
    if (!waiting) return
    this.#socket.pause()
    void waiting.then(() => this.#socket.resume())
  }

  #settle({ index, httpStatus, retryAfterSeconds, text }: AnswerFrame): void {
    const call = this.#calls.get(index)
    this.#calls.delete(index)
    const refusal = refusalBy(this.#endpoint ?? { url: '' }, httpStatus)
    call?.end({ httpStatus, text, retryAfterSeconds, refusal })
  }

  /** Gives up a call that was not answered in time. The other calls of its batch go on. */
  #giveUp(index: number, call: FrameCall, fault: Error): void {
    if (this.#calls.size === 1) return this.#end(fault)
    this.#calls.delete(index)
    this.#late.add(index)
    call.end({ wasSent: this.#wasSent(), how: whyNoAnswer(fault) })
  }

  /** True if the whole request was written. Before that, the runner does not run anything of it. */
  #wasSent(): boolean {
    return !this.#hasFailed && this.#socket.writableLength === 0
  }

  /** Closes the connection. The calls that wait get no answer. */
  #end(error: NodeJS.ErrnoException): void {
    this.#owner.hasEnded()
    const wasSent = this.#wasSent()
    this.#socket.destroy()
    const isUnreached = !wasSent && UNREACHED.has(error.code)
    const lost = { how: whyNoAnswer(error), ...(isUnreached && { isUnreached }) }
    for (const call of this.#calls.values())
      call.end({ wasSent, ...(call.request.signal?.aborted ? STOPPED : lost) })
    this.#calls.clear()
    this.#stop()
  }

  #release(): void {
    this.#stop()
    // A call that was given up may still bring something. A listener that waits would hold up the next call.
    if (this.#late.size > 0 || this.#socket.isPaused()) return this.close()
    this.#take = () => this.close()
    this.idleSinceMs = performance.now()
    // An idle connection does not keep the process alive.
    this.#socket.unref()
    this.#owner.isFree()
  }
}
