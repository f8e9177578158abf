import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { http, https } from '../../node-http.ts'
import { marked } from '../../running-work.ts'
import { EVENTS_TYPE } from './event-reader.ts'

/** The address of a runner, and what authenticates requests to it. */
export type RunnerEndpoint = {
  readonly url: string
  /** The secret that the runner got at its start. Every request to it contains the secret. */
  readonly secret?: string | undefined
  /**
   * Returns the ID token for a request, if Google checks callers. Rejects with an Error whose message can follow the word
   * "because".
   */
  readonly idToken?: (() => Promise<string>) | undefined
}

/** The headers that authenticate a request. If there are none, `how` says why, in words that can follow "The runner". */
type Credential = { readonly headers: { readonly Authorization?: string } } | { readonly how: string }

export async function credentialFor({ secret, idToken }: RunnerEndpoint): Promise<Credential> {
  try {
    const token = idToken ? await idToken() : secret
    return { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } }
  } catch (error) {
    return { how: `was not asked, because ${(error as Error).message}` }
  }
}

/** What a 401 or 403 from this endpoint means, in words that can follow "The runner". */
export function refusalBy({ idToken }: RunnerEndpoint, httpStatus: number): string {
  if (!idToken) return 'refuses the secret of this service'
  return httpStatus === 401
    ? 'takes no ID token that is for its address: RUNNER_URL must be the one that Cloud Run gave it'
    : "does not let this service's account in: give it roles/run.invoker on the runner's service"
}

/**
 * The most bytes of an answer.
 *
 * - `/invoke`: six times a text of 256 KiB and a log of 64 KiB, because JSON may write six bytes for one. Then 128 KiB for the
 *   other fields.
 * - `/check`: a report of 3 MiB, and a log.
 * - `/forget`: nothing, or an error.
 */
export const ANSWER_BYTES_MAX = {
  '/invoke': 6 * (256 + 64) * 1024 + 128 * 1024,
  '/check': 4 * 1024 * 1024,
  '/forget': 4 * 1024,
} as const

/**
 * How many milliseconds an idle connection is kept. The runner closes an idle connection after five seconds. A call that is sent
 * at that moment would fail.
 */
const IDLE_MS = 4_000

type RunnerRequest = {
  readonly path: keyof typeof ANSWER_BYTES_MAX
  readonly body: string
  /** The most milliseconds from now to the last byte of the answer. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** Reads the answer while it arrives. If it is missing, the runner is asked for an answer without events. */
  readonly events?: EventsOf
  /** The most milliseconds between two parts of an answer with events. Each part gives the request this time again. */
  readonly idleMs?: number
}

/** Reads an answer with events. */
type EventsOf = {
  /** True if a listener of the events has made the runner wait at least once. */
  readonly hasWaited?: boolean
  /** Takes the next bytes. If a listener wants to wait, returns a promise, which never rejects. Throws for an invalid answer. */
  take(piece: Buffer): Promise<void> | undefined
  /** The text that counts as the answer. */
  end(): string
}

export type RunnerAnswer = {
  readonly httpStatus: number
  readonly text: string
  readonly retryAfterSeconds: number | undefined
  /** What a 401 or 403 means, in words that can follow "The runner". */
  readonly refusal: string
}

/**
 * Returned if a request got no answer. `wasSent` is true if the runner may have begun. `how` can follow the words "The runner".
 * `isCancelled` is true if the caller has disconnected.
 */
export type NoAnswer = {
  readonly wasSent: boolean
  readonly how: string
  readonly isCancelled?: boolean
}

const STOPPED = { how: 'was told to stop, because the caller has gone', isCancelled: true }

/** The connections to a runner. They are kept open between calls. No request is ever sent twice. */
export class RunnerConnections {
  readonly #http = new http.Agent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https = new https.Agent({ keepAlive: true, timeout: IDLE_MS })

  async post(endpoint: RunnerEndpoint, request: RunnerRequest): Promise<RunnerAnswer | NoAnswer> {
    const credential = await credentialFor(endpoint)
    if ('how' in credential) return { wasSent: false, how: credential.how }
    if (request.signal?.aborted) return { wasSent: false, ...STOPPED }
    const target = new URL(request.path, endpoint.url)
    const isSecure = target.protocol === 'https:'
    const sent = (isSecure ? https : http).request(target, {
      method: 'POST',
      agent: isSecure ? this.#https : this.#http,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(request.body)),
        ...(request.events && { Accept: EVENTS_TYPE }),
        ...credential.headers,
      },
    })
    const wasSent = watchSending(sent)
    const clock = answerClock(sent, request)
    // Node's `signal` option is not used, because it also watches the streams of the request.
    const stop = (): void => void sent.destroy(request.signal?.reason as Error)
    request.signal?.addEventListener('abort', stop)
    try {
      sent.end(request.body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      const hasEvents = request.events && answer.headers['content-type']?.startsWith(EVENTS_TYPE)
      const text = await (hasEvents
        ? readEvents(answer, request.events, clock)
        : readText(answer, ANSWER_BYTES_MAX[request.path]))
      const { statusCode: httpStatus = 0, headers } = answer
      const retryAfter = headers['retry-after'] ?? ''
      const retryAfterSeconds = /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) : undefined
      return { httpStatus, text, retryAfterSeconds, refusal: refusalBy(endpoint, httpStatus) }
    } catch (error) {
      sent.destroy()
      // If the caller has disconnected, `stop` has ended the request, so the error says nothing more.
      const why = request.signal?.aborted
        ? STOPPED
        : { how: whyNoAnswer(clock.fault ?? (error as NodeJS.ErrnoException)) }
      return { wasSent: wasSent(), ...why }
    } finally {
      clock.stop()
      request.signal?.removeEventListener('abort', stop)
    }
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

/** Returns a function that tells whether the request got a connection. Before that, nothing of it can have reached the runner. */
function watchSending(sent: ClientRequest): () => boolean {
  let isConnected = false
  sent.on('error', () => undefined)
  sent.once('socket', (socket) => {
    if (!socket.connecting) isConnected = true
    else socket.once('connect', () => (isConnected = true))
  })
  return () => isConnected
}

/**
 * The additional milliseconds after the deadline in which a slow caller can read what the call has sent before the deadline. They
 * are the same for every call.
 */
const SLOW_READER_MS_MAX = 30_000

/**
 * Ends a request that is not answered in time. If the runner had to wait because the caller reads slowly, the request gets more
 * time once.
 */
function answerClock(sent: ClientRequest, { deadlineMs, events, idleMs }: RunnerRequest): Clock {
  let isLonger = false
  let fault: Error | undefined
  let timer = setTimeout(end, deadlineMs)
  function end(): void {
    if (!events?.hasWaited || isLonger) return stop(`did not answer within ${deadlineMs} ms`)
    isLonger = true
    timer = setTimeout(end, SLOW_READER_MS_MAX)
  }
  function stop(how: string): void {
    fault = new Error(how)
    sent.destroy(fault)
  }
  return {
    get fault() {
      return fault
    },
    heard() {
      if (idleMs === undefined) return
      clearTimeout(timer)
      timer = setTimeout(() => stop(`sent nothing for ${idleMs} ms`), idleMs)
    },
    stop: () => clearTimeout(timer),
  }
}

type Clock = {
  /** Why the clock has ended the request. The stream of an answer that has begun gives another error then. */
  readonly fault: Error | undefined
  /** To be called for each part of an answer with events. */
  heard(): void
  stop(): void
}

/** Reads an answer with events. While the listener of the events waits, nothing more is read. So the runner has to wait too. */
function readEvents(answer: IncomingMessage, events: EventsOf, clock: Clock): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const take = (piece: Buffer): void => {
    clock.heard()
    try {
      const waiting = events.take(piece)
      if (!waiting) return
      answer.pause()
      void waiting.then(() => answer.resume())
    } catch (error) {
      answer.destroy(error as Error)
    }
  }
  answer.on('data', marked(take))
  answer.once('end', () => {
    try {
      resolve(events.end())
    } catch (error) {
      reject(error)
    }
  })
  answer.once('error', reject)
  return promise
}

/** Reads an answer by the events of its stream. Iterating over the stream would take a tenth of the time of a call. */
function readText(answer: IncomingMessage, bytesMax: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const parts: Buffer[] = []
  let bytes = 0
  answer.on('data', (part: Buffer) => {
    bytes += part.length
    if (bytes <= bytesMax) parts.push(part)
    else answer.destroy(new Error(`answered more than ${bytesMax} bytes`))
  })
  answer.once('end', () => resolve(Buffer.concat(parts).toString('utf8')))
  answer.once('error', reject)
  return promise
}

function whyNoAnswer({ code, message }: NodeJS.ErrnoException): string {
  return code === undefined ? message : `was lost (${code})`
}
