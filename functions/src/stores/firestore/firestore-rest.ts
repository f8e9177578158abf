import type { Agent, IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { ArrayElements } from './array-elements.ts'
import type { AccessToken } from './metadata-token.ts'
import { http, https } from '../../node-http.ts'
import type { RestDocument } from './rest-data.ts'

/**
 * The most milliseconds for which an idle connection stays open. After a longer time it may be dead, and nothing would show it.
 */
const IDLE_MS = 30_000
/** The most open connections of one instance to Firestore. */
const CONNECTIONS_MAX = 100

/** The pauses before a failed read is repeated, in milliseconds. Firestore's client has the same pauses. */
const PAUSES_MS = [50, 200]

/** One element of an answer. The answer is a JSON array. An element has a document, the time of the read, or an error. */
export type RestElement = {
  readonly found?: RestDocument
  readonly document?: RestDocument
  readonly readTime?: string
  readonly error?: RestFault
}

type RestFault = { readonly code?: number; readonly message?: string; readonly status?: string }

type RestQuestion<T> = {
  /** The path of the document to which the request is sent. If there are no segments, it is sent to the root of the database. */
  readonly at: readonly string[]
  readonly method: 'batchGet' | 'runQuery'
  readonly body: object
  /** Returns what is kept of an element. */
  readonly read: (element: RestElement) => readonly T[]
  readonly signal: AbortSignal
}

/** An error in an answer of Firestore. */
class RestError extends Error {
  readonly httpStatus: number

  constructor({ code = 0, status = '', message = '' }: RestFault) {
    super(`Firestore answered ${code} ${status}: ${message.slice(0, 500)}`)
    this.httpStatus = code
  }
}

/** Reads one database by Firestore's REST interface. */
export class FirestoreRest {
  readonly #origin: string
  readonly #database: string
  readonly #token: AccessToken
  readonly #protocol: typeof http | typeof https
  readonly #agent: Agent

  constructor(origin: string, projectId: string, token: AccessToken) {
    this.#origin = origin
    this.#database = `projects/${projectId}/databases/(default)/documents`
    this.#token = token
    this.#protocol = origin.startsWith('https:') ? https : http
    this.#agent = new this.#protocol.Agent({ keepAlive: true, timeout: IDLE_MS, maxSockets: CONNECTIONS_MAX })
  }

  /** The full name of a document. */
  name(segments: readonly string[]): string {
    return [this.#database, ...segments].join('/')
  }

  /**
   * Sends a request. Calls `read` with each element of the answer as soon as it has arrived, and returns all results. After a
   * temporary error, repeats the request.
   */
  async ask<T>(question: RestQuestion<T>): Promise<readonly T[]> {
    const { signal } = question
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#askOnce(question)
      } catch (error) {
        const pauseMs = PAUSES_MS[attempt]
        if (pauseMs === undefined || signal.aborted || !isTemporary(error)) throw readable(error)
        await pause(pauseMs, undefined, { signal })
      }
    }
  }

  /** Must be called after the last request has ended. */
  close(): void {
    this.#agent.destroy()
  }

  async #askOnce<T>({ at, method, body, read, signal }: RestQuestion<T>): Promise<readonly T[]> {
    const url = `${this.#origin}/v1/${this.name(at.map(encodeURIComponent))}:${method}`
    const token = await this.#token.get()
    const res = await this.#post(url, token, Buffer.from(JSON.stringify(body)), signal)
    const { statusCode: code = 0 } = res
    if (code === 401) this.#token.forget()
    if (code !== 200) throw new RestError({ ...faultIn(await text(res)), code })
    const elements = new ArrayElements()
    const kept: T[] = []
    for await (const piece of res as AsyncIterable<Buffer>) {
      for (const element of elements.push(piece) as RestElement[]) {
        if (element.error) throw new RestError(element.error)
        kept.push(...read(element))
      }
    }
    if (!elements.isComplete) throw new Error('the answer of Firestore was cut off')
    return kept
  }

  #post(url: string, token: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': body.length,
    }
    return new Promise((resolve, reject) => {
      const req = this.#protocol.request(url, { method: 'POST', agent: this.#agent, headers, signal })
      req.on('response', resolve).on('error', reject).end(body)
    })
  }
}

/**
 * True for an error that may not come again: an error of the network or of a busy store, or a 401. After a 401, the next attempt
 * uses a new token.
 */
function isTemporary(error: unknown): boolean {
  if (error instanceof RestError) return error.httpStatus >= 500 || [401, 429].includes(error.httpStatus)
  return !(error instanceof TypeError)
}

/** Gives an error of the network a readable message. For a host with several addresses, Node's own message is empty. */
function readable(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? new Error(`Firestore could not be asked: ${message || code}`) : error
}

/** The error in an answer. It can be in an object or in an array of one object. A proxy may also send text that is not JSON. */
function faultIn(body: string): RestFault {
  try {
    const [element] = [JSON.parse(body) as RestElement | [RestElement]].flat()
    return element?.error ?? {}
  } catch {
    return { message: body }
  }
}
