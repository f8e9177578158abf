import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { http, https } from '../../node-http.ts'
import { marked } from '../../running-work.ts'
import { answerClock, type AnswerClock } from './answer-clock.ts'
import { EVENTS_TYPE } from './event-reader.ts'
import { FrameConnections } from './frame-connections.ts'
import { ANSWER_BYTES_MAX, refusalBy, STOPPED, whyNoAnswer } from './runner-request.ts'
import type { EventsOf, NoAnswer, RunnerAnswer, RunnerEndpoint, RunnerRequest } from './runner-request.ts'

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

/**
 * How many milliseconds an idle connection is kept. The runner closes an idle connection after five seconds. A call that is sent
 * at that moment would fail.
 */
const IDLE_MS = 4_000

/**
 * The connections to a runner. They are kept open between calls. No request is ever sent twice. A call goes over HTTP if nothing
 * listens at the socket, because a cleaner of old temporary files may have removed it while its runner lives.
 */
export class RunnerConnections {
  readonly #http = new http.Agent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https = new https.Agent({ keepAlive: true, timeout: IDLE_MS })
  readonly #frames = new FrameConnections()

  async post(endpoint: RunnerEndpoint, request: RunnerRequest): Promise<RunnerAnswer | NoAnswer> {
    const { socket } = endpoint
    if (socket !== undefined && request.path === '/invoke') {
      if (request.signal?.aborted) return { wasSent: false, ...STOPPED }
      const answer = await this.#frames.ask({ ...endpoint, socket }, request)
      if ('httpStatus' in answer || !answer.isUnreached) return answer
    }
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
    this.#frames.close()
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

/** Reads an answer with events. While the listener of the events waits, nothing more is read. So the runner has to wait too. */
function readEvents(answer: IncomingMessage, events: EventsOf, clock: AnswerClock): Promise<string> {
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
