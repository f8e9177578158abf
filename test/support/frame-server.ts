import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

/** A frame that a service has sent. */
export type SentFrame = { readonly kind: number; readonly payload: Buffer }

/** A runner at a Unix socket that answers frames as the test says. */
export class FrameServer implements AsyncDisposable {
  readonly path: string
  /** The frames of every connection, in the order in which the connections were made. */
  readonly frames: SentFrame[][] = []
  readonly connections: Socket[] = []
  /** Answers each request of the service. */
  answer: (socket: Socket, request: SentFrame) => void = (socket) => socket.write(answerFrame('{}'))
  readonly #folder: ReturnType<typeof temporaryFolder>
  readonly #server: Server

  private constructor(folder: ReturnType<typeof temporaryFolder>) {
    this.#folder = folder
    this.path = join(folder.path, 'socket')
    this.#server = createServer((socket) => this.#connect(socket)).listen(this.path)
  }

  static async start(): Promise<FrameServer> {
    const server = new FrameServer(temporaryFolder())
    await once(server.#server, 'listening')
    return server
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.connections) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
    this.#folder[Symbol.dispose]()
  }

  #connect(socket: Socket): void {
    const frames: SentFrame[] = []
    this.frames.push(frames)
    this.connections.push(socket)
    let held = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => {
      held = Buffer.concat([held, piece])
      while (held.length >= 5 && held.length >= 5 + held.readUInt32BE()) {
        const end = 5 + held.readUInt32BE()
        const frame = { kind: held.readUInt8(4), payload: held.subarray(5, end) }
        held = held.subarray(end)
        frames.push(frame)
        if (frame.kind !== 1) this.answer(socket, frame)
      }
    })
  }
}

export function frameOf(kind: number, payload: Buffer | string): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(Buffer.byteLength(payload))
  head.writeUInt8(kind, 4)
  return Buffer.concat([head, Buffer.from(payload as string)])
}

export function eventFrame(lines: string, index = 0): Buffer {
  return frameOf(4, Buffer.concat([Buffer.of(0, index), Buffer.from(lines)]))
}

export function answerFrame(json: string, { status = 200, retryAfter = 0, index = 0 } = {}): Buffer {
  const head = Buffer.alloc(6)
  head.writeUInt16BE(index)
  head.writeUInt16BE(status, 2)
  head.writeUInt16BE(retryAfter, 4)
  return frameOf(5, Buffer.concat([head, Buffer.from(json)]))
}
