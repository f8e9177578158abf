import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An HTTP server whose answers a test decides. It records the requests. */
export class ScriptedServer implements AsyncDisposable {
  readonly asked: IncomingMessage[] = []
  /** The answers to the next requests, in order. The last one is repeated. */
  answers: RequestListener[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((req, res) => this.#answer(req, res))
  }

  static async start(): Promise<ScriptedServer> {
    const scripted = new ScriptedServer()
    await new Promise<void>((resolve) => scripted.#server.listen(0, '127.0.0.1', resolve))
    return scripted
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    this.asked.push(req)
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0]
    answer?.(req, res)
  }
}

/** An answer of this value as JSON. */
export function json(value: unknown, httpStatus = 200, headers = {}): RequestListener {
  return (_req, res) => res.writeHead(httpStatus, headers).end(JSON.stringify(value))
}
