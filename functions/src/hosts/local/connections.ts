import { errorBody, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { STATUS_CODES, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sendJson } from '../../http/send-json.ts'
import { mayBeSlow } from '../../http/slow-body.ts'

/** How many milliseconds after its last answer a connection is closed, if the client does not close it. */
const CLOSING_MS = 2_000

/**
 * Stricter rules for connections than those of Node. With Node's rules, a client could fill the memory with answers, or could get
 * an error without a body.
 */
export class Connections {
  /** For each connection, the answer to its latest request. */
  readonly #latest = new WeakMap<Socket, ServerResponse>()
  /** The connections from which nothing is read now, because one of their requests waits. */
  readonly #paused = new WeakSet<Socket>()
  /** The connections that have sent malformed data. For all later data of such a connection, Node reports the fault again. */
  readonly #malformed = new WeakSet<Socket>()

  /**
   * Handles each request of a connection only after the previous answer is written. Node itself would handle all requests that
   * have arrived, and keep every answer in memory until the client reads it. Here, only the requests from one read of the
   * connection can wait. A client that waits for each answer is not slowed down.
   */
  inOrder(app: RequestListener): RequestListener {
    return (req, res) => {
      const { socket } = req
      const before = this.#latest.get(socket)
      this.#latest.set(socket, res)
      if (!before || before.closed) return handle(app, req, res)
      this.#pause(socket)
      // If the previous answer is never sent, `close` never comes. Then nobody waits for this answer either.
      before.once('close', () => {
        if (this.#latest.get(socket) === res) this.#readOn(socket)
        if (!socket.destroyed && socket.writable) handle(app, req, res)
      })
    }
  }

  #pause(socket: Socket): void {
    if (this.#paused.has(socket)) return
    this.#paused.add(socket)
    socket.on('resume', stayPaused).pause()
  }

  #readOn(socket: Socket): void {
    this.#paused.delete(socket)
    socket.off('resume', stayPaused).resume()
  }

  /** Answers a request whose `Expect` header is not 100-continue. Node's own answer would have no body. */
  readonly refuseExpectation = (req: IncomingMessage, res: ServerResponse): void => {
    this.#latest.set(req.socket, res)
    refuse(res, 'HEADER_INVALID', 'Expect must be 100-continue, or be left out.')
  }

  /**
   * Closes an idle connection, unless one of its requests is being handled. A connection is idle between two requests, and while
   * the client reads nothing of an answer. It is also idle if the client does not close it after the last answer.
   */
  readonly cutIfIdle = (socket: Socket): void => {
    const last = this.#latest.get(socket)
    if (socket.writableLength > 0 || !socket.writable || !last || last.closed) socket.destroy()
  }

  /**
   * Answers malformed data, or a request that takes too long, once for each connection, after the answer to the previous request.
   * A body that may be slow has limits of its own. Node reports the time of a request only once.
   */
  readonly refuseMalformed = (error: NodeJS.ErrnoException, socket: Socket): void => {
    const isLate = error.code === LATE
    const isSilent = isLate && socket.bytesRead === 0
    if (error.code === 'ECONNRESET' || isSilent || !socket.writable) return void socket.destroy()
    const last = this.#latest.get(socket)
    const isInBody = last !== undefined && !last.req.complete
    if (isLate && isInBody && mayBeSlow(last.req)) return
    if (this.#malformed.has(socket)) return
    this.#malformed.add(socket)
    if (isInBody && last.headersSent) endSoon(socket, '')
    else if (isInBody || !last || last.closed) sendRefusal(error, socket)
    else last.once('close', () => sendRefusal(error, socket))
  }
}

/** Node's code for a request that did not arrive in time. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'
const TOO_LATE =
  'The request did not arrive in time: its head may take 10 seconds, and all of it 30. Send it faster, or less at a time.'

/** Handles a request, or refuses a request without a Host. Node's own refusal would have no body. */
function handle(app: RequestListener, req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(res, 'REQUEST_MALFORMED')
  else app(req, res)
}

/** Pauses a connection that must stay paused. Node resumes it whenever an answer has ended. */
function stayPaused(this: Socket): void {
  this.pause()
}

function refuse(res: ServerResponse, code: ErrorCode, message?: string): void {
  const body = errorBody(new ToolrackError(code, message))
  sendJson(res, body.error.code, body, { Connection: 'close' })
}

/** Sends an error in the usual shape, on a connection for which there is no `ServerResponse`. */
function sendRefusal(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) return
  const code: ErrorCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'HEADERS_TOO_LARGE' : 'REQUEST_MALFORMED'
  const { error: body } = errorBody(new ToolrackError(code, error.code === LATE ? TOO_LATE : undefined))
  const text = `${JSON.stringify({ error: body })}\n`
  const head = [
    `HTTP/1.1 ${body.code} ${STATUS_CODES[body.code]}`,
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: private, no-store',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ]
  endSoon(socket, [...head, '', text].join('\r\n'))
}

/** Sends a last text on a connection. If the client does not close the connection then, closes it. */
function endSoon(socket: Socket, text: string): void {
  socket.end(text)
  setTimeout(() => socket.destroy(), CLOSING_MS).unref()
}
