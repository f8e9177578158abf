import { createServer, connect } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

type Direction = 'requests' | 'answers'

/** A proxy that simulates the faults of a network. It never changes or reorders bytes. */
export class TcpProxy implements AsyncDisposable {
  readonly #target: { readonly host: string; readonly port: number }
  readonly #sockets = new Set<Socket>()
  readonly #gates: { [D in Direction]: Gate } = { requests: new Gate(), answers: new Gate() }
  /** Called when bytes of a request have arrived, before they are sent on. */
  onRequestBytes: () => void = () => undefined
  #server: Server | undefined
  #port = 0

  private constructor(target: string) {
    const [host = '', port] = target.split(':')
    this.#target = { host, port: Number(port) }
  }

  /** Starts a proxy in front of `host:port`. */
  static async start(target: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await proxy.#listen()
    return proxy
  }

  /** The `host:port` of the proxy. It remains the same after `cut`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  /** Ends every connection and refuses new ones. */
  async cut(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Keeps the connections open and delays all bytes until `restore`. With `answers`, delays only the answers. */
  hold(what: 'all' | 'answers' = 'all'): void {
    this.#gates.answers.close()
    if (what === 'all') this.#gates.requests.close()
  }

  /** Delays every answer by this time. */
  delay(ms: number): void {
    this.#gates.answers.delayMs = ms
  }

  /** Restores the first state, and sends the delayed bytes on. */
  async restore(): Promise<void> {
    this.#gates.answers.delayMs = 0
    for (const gate of Object.values(this.#gates)) gate.open()
    if (!this.#server) await this.#listen()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gate of Object.values(this.#gates)) gate.open()
    await this.cut()
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#join(client))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.#port, '127.0.0.1', resolve)
    })
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  #join(client: Socket): void {
    const server = connect(this.#target)
    this.#forward(client, server, 'requests')
    this.#forward(server, client, 'answers')
  }

  #forward(from: Socket, to: Socket, direction: Direction): void {
    const gate = this.#gates[direction]
    let before = Promise.resolve()
    const inOrder = (act: () => void): void => {
      const came = performance.now()
      before = before.then(() => gate.pass(came)).then(act)
    }
    this.#sockets.add(from)
    from.on('data', (chunk) => {
      if (direction === 'requests') this.onRequestBytes()
      inOrder(() => to.write(chunk))
    })
    from.on('end', () => inOrder(() => to.end()))
    from.on('error', () => to.destroy())
    from.on('close', () => this.#sockets.delete(from))
  }
}

/** The rules for one direction of the connections. */
class Gate {
  delayMs = 0
  #opened = Promise.resolve()
  #open: () => void = () => undefined
  #hurry = new AbortController()

  close(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#opened = promise
    this.#open = resolve
  }

  /** Lets pass what waits, delayed bytes too. */
  open(): void {
    this.#open()
    this.#opened = Promise.resolve()
    this.#hurry.abort()
    this.#hurry = new AbortController()
  }

  async pass(came: number): Promise<void> {
    await this.#opened
    const rest = came + this.delayMs - performance.now()
    if (this.delayMs > 0 && rest > 0)
      await pause(rest, undefined, { signal: this.#hurry.signal }).catch(() => undefined)
  }
}
