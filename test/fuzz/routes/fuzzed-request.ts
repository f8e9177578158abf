import type { Sender } from './people.ts'
import type { Stage } from './stage.ts'

/** How a request says where its body ends. Of a `whole` one that is true; what the others say is false or unclear. */
export type Framing =
  | { readonly as: 'length' }
  | { readonly as: 'none' }
  | { readonly as: 'chunks'; readonly extension: string; readonly trailers: string }
  /** Less bytes are announced than are sent: the rest stands where the next request should. */
  | { readonly as: 'short'; readonly by: number }
  /** More bytes are announced than are sent, and then the sender ends. */
  | { readonly as: 'long'; readonly by: number }
  /** These header lines in place of a right one, before the bytes as they are. */
  | { readonly as: 'unclear'; readonly lines: readonly string[] }
  | { readonly as: 'broken chunks'; readonly start: string }

/** One request, as text of which each character is a byte. `$WORD$`s stand for what the stage knows. */
export type FuzzedRequest = {
  readonly sender: Sender
  readonly method: string
  readonly target: string
  readonly version: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  readonly framing: Framing
  /** In how many pieces it is written, a moment apart. */
  readonly pieces: number
}

/** Whether a reader that keeps to RFC 9112 must find the end of this request where its sender sees it. */
export function isWhole({ framing: { as } }: FuzzedRequest): boolean {
  return as === 'length' || as === 'none' || as === 'chunks'
}

/** The bytes of the request as they go over the wire. */
export function bytesOf(request: FuzzedRequest, stage: Stage): Buffer {
  const { method, version, framing, headers } = request
  const token = stage.tokenOf(request.sender)
  const body = Buffer.from(stage.filledIn(request.body), 'latin1')
  const { lines, sent } = framed(body, framing)
  const head = [
    `${method} ${stage.filledIn(request.target)} ${version}`,
    'Host: fuzz',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...headers.map(([name, value]) => `${name}: ${stage.filledIn(value)}`),
    ...lines,
    '',
    '',
  ].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), sent])
}

type Framed = { readonly lines: readonly string[]; readonly sent: Uint8Array }

function framed(body: Buffer, framing: Framing): Framed {
  switch (framing.as) {
    case 'length':
      return { lines: [`Content-Length: ${body.length}`], sent: body }
    case 'short':
      return { lines: [`Content-Length: ${Math.max(0, body.length - framing.by)}`], sent: body }
    case 'long':
      return { lines: [`Content-Length: ${body.length + framing.by}`], sent: body }
    case 'unclear':
      return { lines: framing.lines.map((line) => line.replace('N', String(body.length))), sent: body }
    case 'chunks':
      return { lines: ['Transfer-Encoding: chunked'], sent: chunked(body, framing) }
    case 'broken chunks':
      return {
        lines: ['Transfer-Encoding: chunked'],
        sent: Buffer.concat([Buffer.from(framing.start, 'latin1'), body]),
      }
    case 'none':
      break
  }
  return { lines: [], sent: Buffer.alloc(0) }
}

function chunked(body: Buffer, { extension, trailers }: { extension: string; trailers: string }): Buffer {
  const half = Math.ceil(body.length / 2)
  const chunks = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0)
  const written = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...written, Buffer.from(`0${extension}\r\n${trailers}\r\n`, 'latin1')])
}
