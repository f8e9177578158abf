import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { http, https } from '../../node-http.ts'
import { credentialFor } from './runner-address.ts'
import type { RunnerAddress } from './runner-address.ts'

/**
 * Bytes of an answer. Whoever says more is no runner. A call: a text of 256 KiB and a log of 64 KiB, of which JSON writes each
 * byte with six at the most, and 128 KiB for what is told beside them. A check: a report of 3 MiB, and a log. Forgetting a module: nothing, or an error.
 */
export const ANSWER_BYTES_MAX = {
  '/invoke': 6 * (256 + 64) * 1024 + 128 * 1024,
  '/check': 4 * 1024 * 1024,
  '/forget': 4 * 1024,
} as const

/** The runner lets go of an idle connection after five seconds; one that is used at that moment would be lost with its call. */
const IDLE_MS = 4_000

/** Behind "The runner". */
const STOPPED = 'was told to stop, for the caller has gone'

export type RunnerRequest = {
  readonly path: keyof typeof ANSWER_BYTES_MAX
  readonly body: string
  /** From now to the last byte of the answer. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
}

export type RunnerAnswer = {
  readonly httpStatus: number
  readonly text: string
  readonly retryAfterSeconds: number | undefined
}

/** No answer: `wasSent` says whether the runner may have begun with it, `how` goes behind "The runner". */
export type RunnerLost = { readonly wasSent: boolean; readonly how: string }

/** Connections to a runner, kept open between calls. Whatever was sent is never sent again. */
export class RunnerLine {
  readonly #http = new http.Agent({ keepAlive: true, timeout: IDLE_MS })
  readonly #https = new https.Agent({ keepAlive: true, timeout: IDLE_MS })

  async post(address: RunnerAddress, request: RunnerRequest): Promise<RunnerAnswer | RunnerLost> {
    const credential = await credentialFor(address)
    if ('how' in credential) return { wasSent: false, how: credential.how }
    if (request.signal?.aborted) return { wasSent: false, how: STOPPED }
    const target = new URL(request.path, address.url)
    const isSecure = target.protocol === 'https:'
    const sent = (isSecure ? https : http).request(target, {
      method: 'POST',
      agent: isSecure ? this.#https : this.#http,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(request.body)),
        ...credential.headers,
      },
    })
    const wasSent = watchSending(sent)
    const late = setTimeout(
      () => sent.destroy(new Error(`did not answer within ${request.deadlineMs} ms`)),
      request.deadlineMs,
    )
    // Not as an option of the request, which would watch its streams as well.
    const stop = (): void => void sent.destroy(request.signal?.reason as Error)
    request.signal?.addEventListener('abort', stop)
    try {
      sent.end(request.body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      const text = await readText(answer, ANSWER_BYTES_MAX[request.path])
      return { httpStatus: answer.statusCode ?? 0, text, retryAfterSeconds: retryAfter(answer) }
    } catch (error) {
      sent.destroy()
      return { wasSent: wasSent(), how: howLost(error as NodeJS.ErrnoException) }
    } finally {
      clearTimeout(late)
      request.signal?.removeEventListener('abort', stop)
    }
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

/** Whether any of it may have reached the other end: not before there was a connection. */
function watchSending(sent: ClientRequest): () => boolean {
  let isConnected = false
  sent.on('error', () => undefined)
  sent.once('socket', (socket) => {
    if (!socket.connecting) isConnected = true
    else socket.once('connect', () => (isConnected = true))
  })
  return () => isConnected
}

/** By events: to iterate a stream costs a call a tenth of its time. */
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

function retryAfter({ headers }: IncomingMessage): number | undefined {
  const { 'retry-after': text = '' } = headers
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined
}

function howLost({ name, code, message }: NodeJS.ErrnoException): string {
  if (name === 'AbortError') return STOPPED
  return code === undefined ? message : `was lost (${code})`
}
