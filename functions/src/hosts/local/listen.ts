import { errorBody, ToolrackError } from '@toolrack/contract'
import type { ErrorCode } from '@toolrack/contract'
import { once } from 'node:events'
import { createServer, STATUS_CODES } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { sendJson } from '../../edge/http/send-json.ts'
import { connectionsMax } from './connections-max.ts'
import { inOrder, LATEST } from './in-order.ts'
import { EXIT, StartError } from './start-error.ts'

/** 200 names of 128 characters, percent-encoded, fit with room for a token. */
const HEADER_BYTES_MAX = 96 * 1024

export type Listening = { readonly server: Server; readonly url: string }

/** How long a connection may take until it has sent the head of a request, in milliseconds. */
const FIRST_REQUEST_MS = 10_000

/** How long a reader may take nothing of an answer that waits for it, in milliseconds. */
const UNREAD_MS = 30_000

/** How long a client may take to close a connection that has had its last answer, in milliseconds. */
const CLOSING_MS = 2_000

/** In place of those of the service. */
export type Limits = { readonly unreadMs?: number; readonly connections?: number }

/** Serves on the address; port 0 takes a free one. */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  limits: Limits = {},
): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: 30_000,
      headersTimeout: FIRST_REQUEST_MS,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000,
      requireHostHeader: false,
    },
    inOrder(refusingHostless(app)),
  )
  server.maxConnections = limits.connections ?? connectionsMax()
  server.on('clientError', refuseMalformed).on('checkExpectation', refuseExpectation)
  server.setTimeout(limits.unreadMs ?? UNREAD_MS, cutIfIdle)
  boundSilent(server, Math.ceil(server.maxConnections / 2))
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new StartError(addressFault(error, host, port), EXIT.addressTaken)
  }
  const { address, port: bound, family } = server.address() as AddressInfo
  return { server, url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}` }
}

/** Ends the server: what is being answered may finish for two seconds, then every connection is cut. */
export async function stopListening({ server }: Listening): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  // A connection whose last answer has gone out is idle from then on; no event of the server's tells.
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  const cut = setTimeout(() => server.closeAllConnections(), 2_000)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}

/** Node itself would answer a missing Host, and below an unknown Expect, with an empty body. */
function refusingHostless(app: RequestListener): RequestListener {
  return function handleRequest(req, res) {
    if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(res, 'REQUEST_MALFORMED')
    else app(req, res)
  }
}

function refuseExpectation(req: IncomingMessage, res: ServerResponse): void {
  LATEST.set(req.socket, res)
  refuse(res, 'HEADER_INVALID', 'Expect must be 100-continue, or be left out.')
}

/**
 * Lets so many connections wait for their first request; the oldest of them gives way to one more. So who opens connections and
 * sends nothing leaves room for others.
 */
function boundSilent(server: Server, max: number): void {
  const silent = new Set<Socket>()
  const spoken = ({ socket }: IncomingMessage): void => void silent.delete(socket)
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
    const [oldest] = silent
    if (silent.size > max) oldest?.destroy()
  })
  server.prependListener('request', spoken)
}

/**
 * Cuts a connection that has done nothing for its time: one whose reader takes nothing of an answer, one that its client has not
 * closed after the last answer, and one between two requests. A request that is worked on is waited for.
 */
function cutIfIdle(socket: Socket): void {
  const last = LATEST.get(socket)
  if (socket.writableLength > 0 || !socket.writable || !last || last.closed) socket.destroy()
}

function refuse(res: ServerResponse, code: ErrorCode, message?: string): void {
  const body = errorBody(new ToolrackError(code, message))
  sendJson(res, body.error.code, body, { Connection: 'close' })
}

/** The connections on which something was malformed: Node tells it again with each piece that still comes. */
const MALFORMED = new WeakSet<Socket>()

/**
 * What Node's HTTP parser refuses is answered once and in its turn: not before the answer to the request that it follows, and
 * not at all where it is the body of a request that has its answer already.
 */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  const isSilent = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0
  if (error.code === 'ECONNRESET' || isSilent || !socket.writable) return void socket.destroy()
  if (MALFORMED.has(socket)) return
  MALFORMED.add(socket)
  const last = LATEST.get(socket)
  const isInBody = last !== undefined && !last.req.complete
  if (isInBody && last.headersSent) endSoon(socket, '')
  else if (isInBody || !last || last.closed) sendRefusal(error, socket)
  else last.once('close', () => sendRefusal(error, socket))
}

/** In the same shape as every other error. */
function sendRefusal(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable) return
  const code: ErrorCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'HEADERS_TOO_LARGE' : 'REQUEST_MALFORMED'
  const { error: body } = errorBody(new ToolrackError(code))
  const text = `${JSON.stringify({ error: body })}\n`
  const head = [
    `HTTP/1.1 ${body.code} ${STATUS_CODES[body.code]}`,
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: private, no-store',
  ]
  endSoon(
    socket,
    [...head, `Content-Length: ${Buffer.byteLength(text)}`, 'Connection: close', '', text].join('\r\n'),
  )
}

/** Sends the last text of a connection, and cuts it when its client does not close it. */
function endSoon(socket: Socket, text: string): void {
  socket.end(text)
  setTimeout(() => socket.destroy(), CLOSING_MS).unref()
}

function addressFault(error: unknown, host: string, port: number): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use by another program; stop it, or set PORT to another one.`
  if (code === 'EACCES')
    return `Port ${port} on ${host} may not be used by this account; set PORT to one above 1023.`
  return `${host} port ${port} can not be listened on (${code}); set HOST and PORT to an address of this machine.`
}
