import type { Agent, IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { ArrayElements } from './array-elements.ts'
import type { AccessToken } from './metadata-token.ts'
import { http, https } from '../../node-http.ts'
import type { RestDocument } from './rest-data.ts'

/** A connection that is used again after this long may be dead without anybody knowing, in milliseconds. */
const IDLE_MS = 30_000
const CONNECTIONS_MAX = 100

/** What fails is asked again after these pauses, in milliseconds, as Firestore's client does: an answer may be lost, a connection old. */
const PAUSES_MS = [50, 200]

/** What Firestore's methods answer with, one element after the other. */
export type RestElement = {
  readonly found?: RestDocument
  readonly document?: RestDocument
  readonly readTime?: string
  readonly error?: { readonly code?: number; readonly message?: string; readonly status?: string }
}

export type RestQuestion<T> = {
  /** The document that the method is called on; the root of the database without any segment. */
  readonly at: readonly string[]
  readonly method: 'batchGet' | 'runQuery'
  readonly body: object
  /** What is kept of an element. */
  readonly read: (element: RestElement) => readonly T[]
  readonly signal: AbortSignal
}

/** Firestore's own answer that it can't or won't. */
class RestError extends Error {
  readonly httpStatus: number

  constructor({ code = 0, status = '', message = '' }: NonNullable<RestElement['error']>) {
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

  /** How a document is called in a question. */
  name(segments: readonly string[]): string {
    return [this.#database, ...segments].join('/')
  }

  /** The answer's elements as they are read while they come; a question that fails in a way that may pass is asked again. */
  async ask<T>(question: RestQuestion<T>): Promise<readonly T[]> {
    const { signal } = question
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#askOnce(question)
      } catch (error) {
        const pauseMs = PAUSES_MS[attempt]
        if (pauseMs === undefined || signal.aborted || !mayPass(error)) throw told(error)
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
    if (res.statusCode !== 200) throw await this.#refusal(res)
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

  async #refusal(res: IncomingMessage): Promise<RestError> {
    const { statusCode: code = 0 } = res
    if (code === 401) this.#token.forget()
    const { status, message } = errorIn(await text(res))
    return new RestError({
      code,
      ...(status !== undefined && { status }),
      ...(message !== undefined && { message }),
    })
  }
}

/** Only what the network or a busy store did; a refusal stays one. A token that was refused has been forgotten. */
function mayPass(error: unknown): boolean {
  if (error instanceof RestError) return error.httpStatus >= 500 || [401, 429].includes(error.httpStatus)
  return !(error instanceof TypeError)
}

/** What the network did, in words of ours: of a host with several addresses Node itself says nothing. */
function told(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? new Error(`Firestore could not be asked: ${message || code}`) : error
}

/** The error in a refusal, which is an object or an array of one; what a proxy in between says is no JSON. */
function errorIn(body: string): NonNullable<RestElement['error']> {
  try {
    const [element] = [JSON.parse(body) as RestElement | [RestElement]].flat()
    return element?.error ?? {}
  } catch {
    return { message: body }
  }
}
