import type { Agent, IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { ArrayElements } from './array-elements.ts'
import type { AccessToken } from './metadata-token.ts'
import { http, https } from '../../node-http.ts'
import type { RestDocument } from './rest-data.ts'

/** A connection that was idle for longer may be dead without a sign of it, in milliseconds. */
const IDLE_MS = 30_000
const CONNECTIONS_MAX = 100

/** A read that fails is repeated after these pauses, in milliseconds, as Firestore's client does. */
const PAUSES_MS = [50, 200]

/** What Firestore's methods answer with, one element after the other. */
export type RestElement = {
  readonly found?: RestDocument
  readonly document?: RestDocument
  readonly readTime?: string
  readonly error?: RestFault
}

type RestFault = {
  readonly code?: number
  readonly message?: string | undefined
  readonly status?: string | undefined
}

export type RestQuestion<T> = {
  /** The document that the method is called on. No segment means the root of the database. */
  readonly at: readonly string[]
  readonly method: 'batchGet' | 'runQuery'
  readonly body: object
  /** The part of an element that is kept. */
  readonly read: (element: RestElement) => readonly T[]
  readonly signal: AbortSignal
}

/** An error that Firestore itself answered. */
class RestError extends Error {
  readonly httpStatus: number

  constructor({ code = 0, status = '', message = '' }: RestFault) {
    super(`Firestore answered ${code} ${status}: ${message.slice(0, 500)}`)
    this.httpStatus = code
  }
}

/** Reads of one database by Firestore's REST interface. */
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

  /** The name of a document in a question. */
  name(segments: readonly string[]): string {
    return [this.#database, ...segments].join('/')
  }

  /** What `read` keeps of the answer's elements, which are read as they come. Asks again after an error that may pass. */
  async ask<T>(question: RestQuestion<T>): Promise<readonly T[]> {
    const { signal } = question
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#askOnce(question)
      } catch (error) {
        const pauseMs = PAUSES_MS[attempt]
        if (pauseMs === undefined || signal.aborted || !mayPass(error)) throw readable(error)
        await pause(pauseMs, undefined, { signal })
      }
    }
  }

  /** To be called when nothing is asked any more. */
  close(): void {
    this.#agent.destroy()
  }

  async #askOnce<T>({ at, method, body, read, signal }: RestQuestion<T>): Promise<readonly T[]> {
    const url = `${this.#origin}/v1/${this.name(at.map(encodeURIComponent))}:${method}`
    const token = await this.#token.get()
    const res = await this.#post(url, token, Buffer.from(JSON.stringify(body)), signal)
    if (res.statusCode !== 200) throw await this.#errorOf(res)
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

  async #errorOf(res: IncomingMessage): Promise<RestError> {
    const { statusCode: code = 0 } = res
    if (code === 401) this.#token.forget()
    return new RestError({ ...faultIn(await text(res)), code })
  }
}

/** True for errors of the network and of a busy store. After a 401 the next attempt asks for a new token. */
function mayPass(error: unknown): boolean {
  if (error instanceof RestError) return error.httpStatus >= 500 || [401, 429].includes(error.httpStatus)
  return !(error instanceof TypeError)
}

/** An error of the network gets a sentence, because Node's own is empty for a host with several addresses. */
function readable(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? new Error(`Firestore could not be asked: ${message || code}`) : error
}

/** The error in an answer, which is an object or an array of one. The answer of a proxy in between is no JSON. */
function faultIn(body: string): RestFault {
  try {
    const [element] = [JSON.parse(body) as RestElement | [RestElement]].flat()
    return element?.error ?? {}
  } catch {
    return { message: body }
  }
}
