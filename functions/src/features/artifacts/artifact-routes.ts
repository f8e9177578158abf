import { ToolrackError } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import { FairQueue } from '../../fair-queue.ts'
import { nextPage } from '../../http/next-page.ts'
import { invalidParameter, Query, refuseParameters } from '../../http/query.ts'
import { route, type PublicRoute, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { slowBody } from '../../http/slow-body.ts'
import { PAGE_MAX } from '../../catalog/views/list-query.ts'
import { READ_ARTIFACTS, WRITE_ARTIFACTS } from './artifact-actions.ts'
import { isArtifactKey } from './artifact-bytes.ts'
import { LINKED, type ArtifactLinks } from './artifact-links.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { ANY_TYPE, ARTIFACT_BYTES_MAX, artifactsAreOff, cleanName, mediaType } from './artifact.ts'
import { serveArtifact } from './serve-artifact.ts'

export type ArtifactParts = {
  /** Undefined on a service that has no place for the bytes. */
  readonly artifacts: ArtifactStore | undefined
  readonly artifactLinks: ArtifactLinks
}

const ALL = '/artifacts'
const ONE = '/artifacts/:id'
/**
 * How many uploads one user may have at once. Each holds an open file and a connection for as long as its client takes. A browser
 * opens six connections to a host.
 */
const UPLOADS_MAX = 8

/** How many downloads one user may have at once: more, because a page may show many images, and a download ends sooner. */
const DOWNLOADS_MAX = 16

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

/** The number of artifacts in a page if the query has no `limit`. */
const ARTIFACTS_IN_PAGE = 100

/**
 * The most bytes of an upload whose size is not known before. So much room is reserved for it, which other uploads at the same
 * time cannot use.
 */
const UNDECLARED_BYTES_MAX = 8 * 1024 * 1024

/** The most milliseconds of an upload. Its room is reserved for a minute more (`WRITING_MS`), in which it can be finished. */
const UPLOAD_MS = 14 * 60 * 1_000

/** The most UTF-16 code units of the header `X-Name` that are read. In percent-encoding, a character has up to 12 of them. */
const NAME_HEADER_LENGTH_MAX = 4_096

export function artifactRoutes({
  artifacts,
  artifactLinks,
}: ArtifactParts): readonly (Route | PublicRoute)[] {
  const store = (): ArtifactStore => {
    if (!artifacts) throw artifactsAreOff()
    return artifacts
  }
  const uploads = upTo(UPLOADS_MAX, 'uploads')
  const downloads = upTo(DOWNLOADS_MAX, 'downloads')
  // Somebody who has a link must not keep its user from other downloads.
  const linkedDownloads = upTo(DOWNLOADS_MAX, 'downloads by links')
  return [
    route({
      method: 'POST',
      path: ALL,
      schemas: async () => (await import('./artifact-schemas.ts')).UPLOAD,
      takesBody: true,
      ask: askedUpload,
      action: WRITE_ARTIFACTS,
      async handle({ principal, asked, req, res, note }) {
        const bytesMax = bytesToCome(req)
        const artifact = await uploads.run(principal.uid, () =>
          uploaded(req, bytesMax, (content) => store().upload(principal, asked, content, bytesMax)),
        )
        note?.({
          digest: `sha256:${artifact.sha256}`,
          subject: { artifact: artifact.id, outcome: 'created' },
        })
        sendJson(res, 201, artifact, NOT_STORED)
      },
    }),
    route({
      method: 'GET',
      path: ALL,
      schemas: async () => (await import('./artifact-schemas.ts')).LIST,
      ask: askedPage,
      action: READ_ARTIFACTS,
      async handle({ principal, asked: { limit, after }, path, search, res }) {
        const { items, last } = await store().page(principal, limit, after)
        sendJson(
          res,
          200,
          { items, cursor: last ?? null },
          { ...NOT_STORED, ...nextPage(path, search, last) },
        )
      },
    }),
    route({
      method: 'GET',
      path: ONE,
      schemas: async () => (await import('./artifact-schemas.ts')).READ,
      ask: refuseParameters,
      action: READ_ARTIFACTS,
      async handle({ principal, params: { id }, req, res }) {
        const artifact = await store().find(principal, id)
        await downloads.run(principal.uid, () =>
          serveArtifact({ req, res }, artifact, (range) => store().content(artifact, range)),
        )
      },
    }),
    route({
      method: 'DELETE',
      path: ONE,
      schemas: async () => (await import('./artifact-schemas.ts')).DELETE,
      ask: refuseParameters,
      action: WRITE_ARTIFACTS,
      audit: { isName: isArtifactKey },
      async handle({ principal, params: { id }, res }) {
        await store().delete(principal, id)
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    route({
      method: 'POST',
      path: `${ONE}/link`,
      schemas: async () => (await import('./artifact-schemas.ts')).LINK,
      ask: refuseParameters,
      action: WRITE_ARTIFACTS,
      audit: { isName: isArtifactKey },
      async handle({ principal, params: { id }, res }) {
        await store().find(principal, id)
        sendJson(res, 200, artifactLinks.make({ uid: principal.uid, id }), NOT_STORED)
      },
    }),
    // Google strips the name of a function from the address of a request to it, so a link has two addresses.
    linkedRoute(`/workflows${LINKED}/:sealed`),
    linkedRoute(`${LINKED}/:sealed`),
  ]

  /** Reads an artifact by a link, which needs no token. */
  function linkedRoute(path: string): PublicRoute {
    return {
      method: 'GET',
      path,
      isRoot: true,
      schemas: async () => (await import('./artifact-schemas.ts')).READ_LINKED,
      action: 'anybody',
      async handle({ params, req, res }) {
        const linked = artifactLinks.open((params as { readonly sealed?: string }).sealed ?? '')
        if (!linked) throw new ToolrackError('ARTIFACT_NOT_FOUND', NO_LINK)
        const artifact = await store().find({ uid: linked.uid }, linked.id)
        await linkedDownloads.run(linked.uid, () =>
          serveArtifact({ req, res }, artifact, (range) => store().content(artifact, range)),
        )
      },
    }
  }
}

/** Work of which each user may have `max` at once. More is refused at once, because what runs may take minutes. */
function upTo(max: number, what: string): FairQueue {
  const bounds = { places: Infinity, placesPerUser: max, waitingPerUser: 0, waitingMax: 0 }
  const text = `You have ${max} ${what} of artifacts at once, and may have no more; nothing was done. Try again when one has ended.`
  return new FairQueue(bounds, () => new ToolrackError('SERVICE_BUSY', text))
}

const NO_LINK = 'The link is not valid: links end after 10 minutes. Ask for a new one.'

/** What an upload is called. Throws HEADER_INVALID, or PARAMETER_UNKNOWN for a query. */
function askedUpload({ req, search }: { readonly req: IncomingMessage; readonly search: string }) {
  refuseParameters({ search })
  const { headers } = req
  const sentType = headers['content-type']
  const type = sentType === undefined || sentType === '' ? ANY_TYPE : mediaType(sentType)
  if (type === undefined)
    throw new ToolrackError('HEADER_INVALID', 'Content-Type must be a media type, such as text/csv.')
  return { type, name: cleanName(nameIn(headers['x-name']?.toString())) }
}

/**
 * The most bytes that the body can have. Throws BODY_TOO_LARGE if the request says that it has more than it may, and HEADER_INVALID
 * if it is compressed.
 */
function bytesToCome({ headers }: IncomingMessage): number {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new ToolrackError(
      'HEADER_INVALID',
      'Content-Encoding must be left out: send the bytes as they are.',
    )
  const declared = headers['content-length']
  if (declared === undefined) return headers['transfer-encoding'] === undefined ? 0 : UNDECLARED_BYTES_MAX
  const bytes = Number(declared)
  if (bytes > ARTIFACT_BYTES_MAX)
    throw new ToolrackError(
      'BODY_TOO_LARGE',
      `An artifact may have at most ${ARTIFACT_BYTES_MAX / 1024 / 1024} MB. Send it in parts.`,
    )
  return bytes
}

/** The name in the header `X-Name`. A header has no letters but those of English, so the name is percent-encoded UTF-8. */
function nameIn(header = ''): string {
  const text = header.slice(0, NAME_HEADER_LENGTH_MAX)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A request whose body the Functions Framework has already read. */
type ReadRequest = IncomingMessage & { readonly rawBody?: Uint8Array; body?: unknown }

/** Reads the body of an upload in pieces. If the client leaves, the upload ends with CANCELLED. */
async function uploaded<Result>(
  req: ReadRequest,
  bytesMax: number,
  keep: (content: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  try {
    return await keep(piecesOf(req))
  } catch (error) {
    if ((error as { code?: string }).code === 'BODY_TOO_LARGE')
      throw new ToolrackError(
        'BODY_TOO_LARGE',
        `The body has more than ${bytesMax} bytes. Say its size in the header Content-Length; without it, a body may have 8 MB.`,
      )
    throw error
  }
}

/** The pieces of the body. The Functions Framework has read it already, so it cannot be slow. */
function piecesOf(req: ReadRequest): AsyncIterable<Uint8Array> {
  const { rawBody } = req
  if (!rawBody) return slowBody(req, { wholeMs: UPLOAD_MS })
  // Frees the value that the framework has parsed.
  req.body = undefined
  return only(rawBody)
}

async function* only(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(piece)
}

function askedPage({ search }: { readonly search: string }) {
  const query = new Query(search, ['limit', 'cursor'])
  const after = query.one('cursor')
  if (after !== undefined && !isArtifactKey(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  return { limit: query.integer('limit', 1, PAGE_MAX) ?? ARTIFACTS_IN_PAGE, after }
}
