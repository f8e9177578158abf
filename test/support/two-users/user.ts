import { Agent, request } from 'node:http'

/** The longest wait of a user for an answer. It is longer than the slowest request is allowed to run. */
const PATIENCE_MS = 90_000

type Headers = Readonly<Record<string, string>>

/** The answer to one request. The status is 0 if the connection was lost or no answer came. */
export type Told = { readonly status: number; readonly text: string; readonly ms: number }

/** A user with a token, and connections that are kept open. */
export class User implements Disposable {
  readonly url: string
  readonly token: string
  readonly #agent = new Agent({ keepAlive: true })
  readonly #patienceMs: number

  constructor(url: string, token: string, patienceMs = PATIENCE_MS) {
    this.url = url
    this.token = token
    this.#patienceMs = patienceMs
  }

  /** Sends a request below `/workflows/tools`. An object is sent as JSON. Never rejects. */
  ask(method: string, path: string, body?: string | object, headers: Headers = {}): Promise<Told> {
    return this.send(method, `/workflows/tools${path}`, body, headers)
  }

  /** As `ask`, with the whole path. */
  send(method: string, path: string, body?: string | object, more: Headers = {}): Promise<Told> {
    const sent = typeof body === 'object' ? JSON.stringify(body) : (body ?? '')
    const startedMs = performance.now()
    const { promise, resolve } = Promise.withResolvers<Told>()
    const told = (status: number, text: string): void =>
      resolve({ status, text, ms: performance.now() - startedMs })
    const req = request(`${this.url}${path}`, {
      method,
      agent: this.#agent,
      timeout: this.#patienceMs,
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Length': Buffer.byteLength(sent), ...more },
    })
    req.on('timeout', () => req.destroy(new Error('nothing came')))
    req.on('error', (error) => told(0, String(error)))
    req.on('response', (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', (error) => told(0, String(error)))
      answer.on('end', () => told(answer.statusCode ?? 0, Buffer.concat(parts).toString()))
    })
    req.end(sent)
    return promise
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
