import type { IncomingMessage, ServerResponse } from 'node:http'
import { eventOrEnd, isGone, READER_PATIENCE_MS } from '../../http/caller.ts'
import { isNotModified } from '../../http/entity-tag.ts'
import { ANY_TYPE, type Artifact } from './artifact.ts'
import type { ByteRange } from './artifact-bytes.ts'
import { requestedRange } from './byte-range.ts'

/**
 * The types that are served as what they are: pictures and plain texts, which run no code in a browser. All other contents are
 * served as bytes to be saved. SVG and PDF are not here, because both can have scripts.
 */
const SHOWN: ReadonlyMap<string, string> = new Map([
  ['image/png', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
  ['text/plain', 'text/plain; charset=utf-8'],
])

/**
 * Even if a browser took a content for a page, the page could run nothing, load nothing, and would have no origin. `nosniff` keeps
 * a browser from taking an image for a page.
 */
const HARMLESS = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const

type Content = (range?: ByteRange) => Promise<AsyncIterable<Uint8Array>>

/**
 * Sends an artifact, or the part of it that the header `Range` names. `content` reads the bytes. The memory that an answer takes
 * does not depend on the size of the artifact.
 */
export async function serveArtifact(
  { req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse },
  artifact: Artifact,
  content: Content,
): Promise<void> {
  const { bytes, sha256 } = artifact
  const etag = `"sha256:${sha256}"`
  const headers = { ...HARMLESS, ...shownAs(artifact), ETag: etag, 'Accept-Ranges': 'bytes' }
  if (isNotModified(req.headers['if-none-match'], etag))
    return void res.writeHead(304, { ETag: etag, 'Cache-Control': HARMLESS['Cache-Control'] }).end()
  const range = rangeOf(req, etag, bytes)
  if (range === 'none')
    return void res.writeHead(416, { ...HARMLESS, 'Content-Range': `bytes */${bytes}` }).end()
  const part = range === 'whole' ? undefined : range
  const length = part ? part.end - part.start + 1 : bytes
  // The bytes are looked for before the head is sent, so that missing ones are an error that the client sees.
  const pieces = await content(part)
  res.writeHead(part ? 206 : 200, {
    ...headers,
    'Content-Length': String(length),
    ...(part && { 'Content-Range': `bytes ${part.start}-${part.end}/${bytes}` }),
  })
  if (req.method === 'HEAD' || length === 0) return void res.end()
  await sendPieces(res, pieces, length)
}

/** A range counts only if the client has the beginning of the same content, if it says which content it has. */
function rangeOf({ headers }: IncomingMessage, etag: string, bytes: number): ByteRange | 'whole' | 'none' {
  const ifRange = headers['if-range']?.toString().trim()
  if (ifRange !== undefined && ifRange !== etag) return 'whole'
  return requestedRange(headers.range, bytes)
}

/** How a browser may use a content: show it as its type, or save it. */
function shownAs({ type, name }: Artifact): Readonly<Record<string, string>> {
  const shown = SHOWN.get(type)
  return {
    'Content-Type': shown ?? ANY_TYPE,
    'Content-Disposition': `${shown === undefined ? 'attachment' : 'inline'}; ${fileName(name)}`,
  }
}

/** The name of a file as a header has it (RFC 6266, 4.3): for old clients in ASCII, and for all others as it is. */
function fileName(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/** Sends the pieces one by one. The next one is read when the client has taken the one before. */
async function sendPieces(
  res: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  length: number,
): Promise<void> {
  // Node itself has no time limit for a slow reader.
  res.setTimeout(READER_PATIENCE_MS, () => void res.req.socket.destroy())
  let sent = 0
  for await (const piece of pieces) {
    sent += piece.length
    if (!res.write(piece)) await eventOrEnd(res, 'drain')
    if (isGone(res)) return
  }
  // An answer that is too short must not look complete.
  if (sent !== length) throw new Error('the bytes of an artifact are fewer than its document says')
  res.end()
}
