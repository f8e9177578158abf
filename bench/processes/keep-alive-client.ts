import { once } from 'node:events'
import { connect } from 'node:net'

const END_OF_HEAD = '\r\n\r\n'

type Headers = Readonly<Record<string, string>>

export type KeepAliveClient = {
  /** Sends a request, one at a time. Resolves to the JSON of the answer. Rejects if the status is not 200. */
  readonly send: (method: 'GET' | 'POST', path: string, body?: unknown, headers?: Headers) => Promise<unknown>
  /** False after the server has closed the connection. The runner closes a connection that is idle for five seconds. */
  readonly isOpen: () => boolean
  readonly close: () => void
}

/** Opens one connection. It knows only the HTTP that the runner uses, because a larger client would cost more than the server. */
export async function keepAliveClient(port: number, token = ''): Promise<KeepAliveClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = Buffer.alloc(0)
  let waiting: PromiseWithResolvers<unknown> | undefined
  socket.on('data', (data) => {
    received = received.length === 0 ? data : Buffer.concat([received, data])
    const answer = wholeAnswer(received)
    if (answer === undefined) return
    received = Buffer.alloc(0)
    if (answer.isOk) waiting?.resolve(JSON.parse(answer.body))
    else waiting?.reject(new Error(`the answer was ${answer.head.split('\r\n', 1)[0]}: ${answer.body}`))
  })
  socket.on('error', (error) => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the connection was closed')))
  await once(socket, 'connect')
  return {
    send(method, path, value, headers = {}) {
      const body = value === undefined ? '' : JSON.stringify(value)
      const head = [
        `${method} ${path} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${token}`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        ...Object.entries(headers).map(([name, text]) => `${name}: ${text}`),
      ]
      if (socket.destroyed) return Promise.reject(new Error('the connection was closed before'))
      waiting = Promise.withResolvers()
      socket.write(head.join('\r\n') + END_OF_HEAD + body)
      return waiting.promise
    },
    isOpen: () => !socket.destroyed,
    close: () => socket.destroy(),
  }
}

function wholeAnswer(received: Buffer): { isOk: boolean; head: string; body: string } | undefined {
  const end = received.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const start = end + END_OF_HEAD.length
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.NaN)
  if (!(received.length >= start + length)) return undefined
  return {
    isOk: head.startsWith('HTTP/1.1 200 '),
    head,
    body: received.toString('utf8', start, start + length),
  }
}
