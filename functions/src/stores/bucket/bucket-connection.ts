import { ToolrackError } from '@toolrack/contract'
import { once } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { http, https } from '../../node-http.ts'
import { withinMs } from '../../within-ms.ts'
import type { AccessToken } from './account-token.ts'

/** How long an idle connection stays open, in milliseconds. After a longer time it may be dead, and nothing would show it. */
const IDLE_MS = 30_000
/** The most open connections of one instance to Cloud Storage. An instance serves 80 requests at once. */
const CONNECTIONS_MAX = 100
/** The longest wait for an answer, for a piece of it, or until a piece of an upload is taken, in milliseconds. */
const ANSWER_MS = 20_000
/** The pauses before a request that failed for a while is repeated, in milliseconds. The same as for Firestore. */
const PAUSES_MS = [50, 200]
/** How much of the text of an error is logged, in characters. */
const FAULT_LENGTH_MAX = 500

/** An answer of Cloud Storage with an error. */
class BucketError extends Error {
  readonly httpStatus: number

  constructor(httpStatus: number, body: string) {
    super(`Cloud Storage answered ${httpStatus}: ${body.slice(0, FAULT_LENGTH_MAX)}`)
    this.httpStatus = httpStatus
  }
}

/** Sends requests to the JSON API of Cloud Storage. Each method rejects with STORE_FAILED if Cloud Storage fails. */
export class BucketConnection {
  readonly #origin: string
  readonly #token: AccessToken
  readonly #protocol: typeof http | typeof https
  readonly #agent: Agent

  constructor(origin: string, token: AccessToken) {
    this.#origin = origin
    this.#token = token
    this.#protocol = origin.startsWith('https:') ? https : http
    this.#agent = new this.#protocol.Agent({ keepAlive: true, timeout: IDLE_MS, maxSockets: CONNECTIONS_MAX })
  }

  /**
   * Sends a request that may be repeated, and repeats it after a temporary error. Resolves to the answer when its head has
   * arrived, with a status below 300 or one of `expected`. The caller must read the answer or destroy it.
   */
  ask(
    method: 'GET' | 'DELETE',
    path: string,
    expected: readonly number[] = [],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    return orStoreFailed(async () => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          const req = await this.#open(method, path, headers)
          req.end()
          return await this.#answer(req, expected)
        } catch (error) {
          const pauseMs = PAUSES_MS[attempt]
          if (pauseMs === undefined || !isTemporary(error)) throw error
          await pause(pauseMs)
        }
      }
    })
  }

  /** The text of an answer to such a request. */
  askText(...question: Parameters<BucketConnection['ask']>): Promise<{ status: number; body: string }> {
    return orStoreFailed(async () => {
      const res = await this.ask(...question)
      try {
        return { status: res.statusCode ?? 0, body: await withinMs(ANSWER_MS, text(res)) }
      } finally {
        res.destroy()
      }
    })
  }

  /** Begins an upload. It is never repeated, because its content cannot be read twice. */
  upload(path: string): Promise<Upload> {
    return orStoreFailed(async () => {
      const req = await this.#open('POST', path, { 'Content-Type': 'application/octet-stream' })
      return new Upload(
        req,
        answerOf(req).then((res) => this.#checked(res, [])),
      )
    })
  }

  /** Must be called after the last request has ended. */
  close(): void {
    this.#agent.destroy()
  }

  async #open(method: string, path: string, more: Readonly<Record<string, string>>): Promise<ClientRequest> {
    const headers = { Authorization: `Bearer ${await this.#token.get()}`, ...more }
    return this.#protocol.request(this.#origin + path, { method, agent: this.#agent, headers })
  }

  async #answer(req: ClientRequest, expected: readonly number[]): Promise<IncomingMessage> {
    try {
      return await this.#checked(await withinMs(ANSWER_MS, answerOf(req)), expected)
    } catch (error) {
      req.destroy()
      throw error
    }
  }

  async #checked(res: IncomingMessage, expected: readonly number[]): Promise<IncomingMessage> {
    const { statusCode: status = 0 } = res
    if (status < 300 || expected.includes(status)) return res
    if (status === 401) this.#token.forget()
    throw new BucketError(status, await withinMs(ANSWER_MS, text(res)))
  }
}

/** An upload that has begun. If it is not ended, Cloud Storage keeps nothing of it. */
export class Upload {
  readonly #req: ClientRequest
  readonly #answer: Promise<IncomingMessage>
  readonly #early: Promise<never>

  /** `answer` rejects if the connection breaks, and if Cloud Storage refuses the upload. */
  constructor(req: ClientRequest, answer: Promise<IncomingMessage>) {
    this.#req = req
    this.#answer = answer
    this.#early = answer.then(() => {
      throw new Error('Cloud Storage answered before it had the whole content')
    })
    // The next `send` or `end` rejects with the error.
    this.#early.catch(() => undefined)
  }

  /** Resolves when the connection takes more. Rejects with STORE_FAILED if it has broken, or if there is an early answer. */
  send(piece: Uint8Array): Promise<void> {
    return orStoreFailed(async () => {
      if (this.#req.write(piece)) return
      await withinMs(ANSWER_MS, Promise.race([once(this.#req, 'drain'), this.#early]))
    })
  }

  /** Resolves when the content is kept. */
  end(): Promise<void> {
    return orStoreFailed(async () => {
      this.#req.end()
      await withinMs(ANSWER_MS, text(await withinMs(ANSWER_MS, this.#answer)))
    })
  }

  abort(): void {
    this.#req.destroy()
  }
}

/** Yields the bytes of an answer, in pieces of at most `bytesMax`. Ends the connection if the reader stops early. */
export async function* piecesOf(res: Readable, bytesMax: number): AsyncGenerator<Uint8Array> {
  const pieces = res[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  try {
    for (;;) {
      const { value: piece } = await orStoreFailed(() => withinMs(ANSWER_MS, pieces.next()))
      if (!piece) return
      for (let at = 0; at < piece.length; at += bytesMax) yield piece.subarray(at, at + bytesMax)
    }
  } finally {
    res.destroy()
  }
}

function answerOf(req: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => req.on('response', resolve).on('error', reject))
}

/** True for an error that may not come again: one of the network or of a busy store, or a 401, after which the token is a new one. */
function isTemporary(error: unknown): boolean {
  if (error instanceof BucketError)
    return error.httpStatus >= 500 || [401, 408, 429].includes(error.httpStatus)
  return !(error instanceof TypeError)
}

export async function orStoreFailed<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (cause) {
    throw cause instanceof ToolrackError ? cause : new ToolrackError('STORE_FAILED', undefined, { cause })
  }
}
