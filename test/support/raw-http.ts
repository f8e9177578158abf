import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A TCP connection, without an HTTP client. */
export async function rawConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

/** Sends bytes and collects the answer until the server ends the connection. */
export async function rawExchange(url: string, sent: string | Uint8Array): Promise<RawAnswer> {
  const socket = await rawConnection(url)
  socket.write(sent)
  return readAnswer(socket)
}

export type RawAnswer = { readonly status: number; readonly head: string; readonly body: string }

/** The remaining bytes of a connection, as one answer. */
export async function readAnswer(socket: Socket): Promise<RawAnswer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const [head = '', ...body] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]), head, body: body.join('\r\n\r\n') }
}
