import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The answer to the request that each connection had last. */
export const LATEST = new WeakMap<Socket, ServerResponse>()

/** The connections that are not read while requests of theirs wait. */
const PAUSED = new WeakSet<Socket>()

/**
 * Handles the requests of one connection one after another: the next one when the answer before has been handed on whole. Node
 * would hand on all that have come, and keep every answer until its reader takes it. What waits is at most one read of the
 * connection. A client that asks again when it has its answer waits for nothing.
 */
export function inOrder(app: RequestListener): RequestListener {
  return function handleInOrder(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    const before = LATEST.get(socket)
    LATEST.set(socket, res)
    if (!before || before.closed) {
      app(req, res)
      return
    }
    pause(socket)
    // The answer before that never gets its turn is never closed, and then nothing waits for this one either.
    before.once('close', () => {
      if (LATEST.get(socket) === res) readOn(socket)
      if (!socket.destroyed && socket.writable) app(req, res)
    })
  }
}

function pause(socket: Socket): void {
  if (PAUSED.has(socket)) return
  PAUSED.add(socket)
  socket.on('resume', stayPaused).pause()
}

function readOn(socket: Socket): void {
  PAUSED.delete(socket)
  socket.off('resume', stayPaused).resume()
}

/** Node reads on by itself when an answer has ended. */
function stayPaused(this: Socket): void {
  this.pause()
}
