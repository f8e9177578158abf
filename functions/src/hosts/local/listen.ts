import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { READER_PATIENCE_MS } from '../../http/caller.ts'
import { Connections } from './connections.ts'
import { EXIT, StartError } from './start-error.ts'

/**
 * The most bytes of a request's address and headers together. There is room for 200 percent-encoded names of 128 characters, and
 * a token.
 */
const HEADER_BYTES_MAX = 96 * 1024

/** The most milliseconds after which a connection must have sent the head of a request. */
const FIRST_REQUEST_MS = 10_000

/** The most milliseconds after which a whole request must have arrived. A body of 1 MB needs 35 KB/s. `slowBody` takes longer ones. */
const REQUEST_MS = 30_000

type Listening = { readonly server: Server; readonly url: string }

/** Limits of the service that tests replace. */
export type Limits = {
  readonly unreadMs?: number
  readonly connections?: number
  readonly requestMs?: number
}

/** Serves on the address. Port 0 means a free port. Rejects with a StartError. */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  limits: Limits = {},
): Promise<Listening> {
  const connections = new Connections()
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: limits.requestMs ?? REQUEST_MS,
      headersTimeout: Math.min(FIRST_REQUEST_MS, limits.requestMs ?? REQUEST_MS),
      connectionsCheckingInterval: Math.min(1_000, limits.requestMs ?? REQUEST_MS),
      keepAliveTimeout: 65_000,
      requireHostHeader: false,
    },
    connections.inOrder(app),
  )
  server.maxConnections = limits.connections ?? connectionsMax()
  server.on('clientError', connections.refuseMalformed).on('checkExpectation', connections.refuseExpectation)
  server.setTimeout(limits.unreadMs ?? READER_PATIENCE_MS, connections.cutIfIdle)
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

/** Stops the server. After two seconds, it closes connections with unfinished answers. */
export async function stopListening({ server }: Listening): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  // Node has no event for a connection that becomes idle after its last answer. So idle connections are closed every 20 ms.
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  const cut = setTimeout(() => server.closeAllConnections(), 2_000)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}

/**
 * If more than `max` connections have not sent a request yet, closes the oldest of them, so that they do not shut out other
 * clients.
 */
function boundSilent(server: Server, max: number): void {
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
    const [oldest] = silent
    if (silent.size > max) oldest?.destroy()
  })
  server.prependListener('request', ({ socket }) => void silent.delete(socket))
}

/** How many file descriptors are reserved for the stores, the files and the runner. */
const KEPT = 256
/**
 * The most connections at once, even if `ulimit -n` allows more. Otherwise clients could use up the file descriptors of the
 * process.
 */
const CONNECTIONS_MAX = 10_000

/**
 * The most connections at once. Each can need two file descriptors: its own, and that of an artifact that it sends or receives.
 * So it is half of the soft limit without the reserved ones, but at least a quarter of the soft limit, and at most 10,000.
 */
export function connectionsMax(limitsText = readLimits()): number {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limitsText) ?? []
  const descriptors = soft === undefined || soft === 'unlimited' ? Infinity : Number(soft)
  return Math.min(CONNECTIONS_MAX, Math.max(Math.ceil(descriptors / 4), Math.floor((descriptors - KEPT) / 2)))
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

function addressFault(error: unknown, host: string, port: number): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use by another program; stop it, or set PORT to another one.`
  if (code === 'EACCES')
    return `Port ${port} on ${host} may not be used by this account; set PORT to one above 1023.`
  return `${host} port ${port} cannot be used (${code}); set HOST and PORT to an address of this machine.`
}
