import { DIALECTS, parseNameFilter, ToolrackError } from '@toolrack/contract'
import type { Dialect } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import { readCursor } from '../../tools/catalog/cursor.ts'
import { dialectAnswer } from '../../tools/catalog/dialect-answer.ts'
import { layersText, listAnswer } from '../../tools/catalog/list-answer.ts'
import type { ListAnswer } from '../../tools/catalog/list-answer.ts'
import { ENVELOPES, FILTER_VALUES_MAX, PAGE_MAX } from '../../tools/catalog/list-query.ts'
import type { Envelope, ListQuery } from '../../tools/catalog/list-query.ts'
import { FairQueue } from '../../fair-queue.ts'
import { STRETCH_MS } from '../../loop-turn.ts'
import { FragmentsInTurns } from '../../tools/catalog/fragments-in-turns.ts'
import { callerGone } from '../http/caller.ts'
import { isNotModified } from '../http/entity-tag.ts'
import { invalidParameter, Query } from '../http/query.ts'
import { route } from '../http/route.ts'
import type { KnownRequest, Route } from '../http/route.ts'
import { VERSION } from '../../version.ts'

const PARAMETERS = [
  'names',
  'name',
  'only',
  'tags',
  'category',
  'dialect',
  'envelope',
  'strict',
  'limit',
  'cursor',
]

/** A list as it is sent: made once for a catalog and a query, then only looked up. */
type SentList = {
  readonly etag: string
  readonly body: Buffer
  readonly headers: string[]
  readonly bodyHeaders: string[]
}

/** Bytes of ready lists that an instance keeps; the full list of the catalog it serves is always among them. */
const SENT_BYTES_MAX = 64 * 1024 * 1024

/** Lists that wait to be made for one user. */
const WAITING_MAX = 100

/** As for large bodies: for each millisecond by which making a list has blocked others for long, its user's next list waits. */
const PAUSE_FACTOR = 16
const PAUSE_MS_MAX = 1_000

export type ListParts = {
  readonly catalog: Catalog
  /** The envelope of a list that asks for none. */
  readonly envelope: Envelope
  /** `workflowName` of items whose runner names none. */
  readonly defaultWorkflow: string
}

/**
 * `GET /tools/list`: the definitions that the caller's model may be given. Callers without definitions of their own share their
 * lists. The query is read where a list is made, for one that is ready is found by its address.
 */
export function listRoute(parts: ListParts): Route {
  const lists = new LRUCache<string, SentList>({
    maxSize: SENT_BYTES_MAX,
    sizeCalculation: sentBytes,
  })

  /** What is made for users with definitions of their own, who alone decide how long it takes: one list of each at a time. */
  const making = new FairQueue(
    { places: 4, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () =>
      new ToolrackError('SERVICE_BUSY', 'Too many of your lists are being made; ask for fewer at a time.'),
  )

  function send(request: KnownRequest, view: CatalogView): void | Promise<void> {
    const { principal, path, search, req, res } = request
    const owner = view.hasOwn ? `${principal.uid} ` : ''
    const key = `${owner}${view.revision} ${req.url}`
    const ready = lists.get(key)
    if (ready) return sendList(request, ready)
    async function make(): Promise<void> {
      const fragments = new FragmentsInTurns(parts.catalog.fragments)
      let list = lists.get(key)
      let longestMs = 0
      list ??= await fragments.whole(() => {
        const sinceMs = performance.now()
        try {
          return makeList(parts, view, search, path, fragments)
        } finally {
          longestMs = Math.max(longestMs, performance.now() - sinceMs)
        }
      })
      const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_FACTOR * (longestMs - 2 * STRETCH_MS))
      if (view.hasOwn && pauseMs > 0) making.pause(principal.uid, pauseMs)
      lists.set(key, list)
      sendList(request, list)
    }
    return view.hasOwn ? making.run(principal.uid, make, { signal: callerGone(res) }) : make()
  }

  function sendList({ principal, req, res, unread }: KnownRequest, list: SentList): void {
    if (isNotModified(req.headers['if-none-match'], list.etag)) {
      res.writeHead(304, list.headers).end()
      return
    }
    unread.hold(principal.uid, res, list.body.length)
    res.writeHead(200, list.bodyHeaders).end(list.body)
  }

  return route({
    method: 'GET',
    path: '/tools/list',
    action: { verb: 'read' },
    handle(request) {
      const view = parts.catalog.view(request.principal)
      return view instanceof Promise ? view.then((read) => send(request, read)) : send(request, view)
    },
  })
}

/** A header's text may be held twice, and each place in the two arrays counts. */
function sentBytes({ body, headers, bodyHeaders }: SentList, key: string): number {
  const texts = [...headers, ...bodyHeaders].reduce((sum, text) => sum + text.length + 16, 0)
  return body.length + 2 * key.length + texts + 1_024
}

function makeList(
  parts: ListParts,
  view: CatalogView,
  search: string,
  path: string,
  fragments: FragmentsInTurns,
): SentList {
  const query = parseListQuery(search, parts.envelope)
  if (query.strict && !view.isWhole) {
    throw new ToolrackError('LAYER_UNAVAILABLE', undefined, {
      details: [{ reason: 'LAYER_UNAVAILABLE', layers: layersText(view) }],
    })
  }
  const answer = answerTo(query, parts, view, fragments)
  const etag = `"${hashOf([VERSION, view.revision, parts.envelope, parts.defaultWorkflow, search].join('\n'))}"`
  const headers = [
    'ETag',
    etag,
    'Cache-Control',
    'private, no-cache',
    'X-Tools-Revision',
    view.revision,
    'X-Tools-Layers',
    answer.layers,
  ]
  if (answer.unknown !== undefined) headers.push('X-Tools-Unknown', answer.unknown)
  if (answer.quarantined !== undefined) headers.push('X-Tools-Quarantined', answer.quarantined)
  if (answer.nextCursor !== undefined) headers.push('Link', nextLink(path, search, answer.nextCursor))
  const type = ['Content-Type', 'application/json; charset=utf-8', 'X-Content-Type-Options', 'nosniff']
  const bodyHeaders = [...type, ...headers, 'Content-Length', String(answer.body.length)]
  return { etag, body: answer.body, headers, bodyHeaders }
}

function answerTo(
  query: ListQuery,
  { defaultWorkflow }: ListParts,
  view: CatalogView,
  fragments: FragmentsInTurns,
): ListAnswer {
  const { dialect } = query
  if (dialect === undefined) return listAnswer(view, query, defaultWorkflow)
  return dialectAnswer(view, { ...query, dialect }, defaultWorkflow, fragments)
}

/** Reads the query of a list; what is not understood is an error, never a list of everything. */
export function parseListQuery(search: string, envelope: Envelope): ListQuery {
  const query = new Query(search, PARAMETERS)
  const cursor = query.one('cursor')
  const after = cursor === undefined ? undefined : readCursor(cursor)
  if (cursor !== undefined && !after)
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  const dialect = query.optional('dialect', DIALECTS)
  return {
    names: parseNames(query),
    tags: query.set('tags', FILTER_VALUES_MAX),
    categories: query.set('category', FILTER_VALUES_MAX),
    dialect,
    envelope: dialect ? envelopeIn(dialect, query) : query.choice('envelope', ENVELOPES, envelope),
    strict: query.flag('strict'),
    limit: query.integer('limit', 1, PAGE_MAX),
    after,
  }
}

/** A dialect is what a vendor's field takes, whatever the envelope of other lists is; only OpenAI's shape has items. */
function envelopeIn(dialect: Dialect, query: Query): Envelope {
  const envelope = query.choice('envelope', ENVELOPES, 'array')
  if (envelope === 'items' && dialect !== 'openai' && dialect !== 'openai-strict')
    throw invalidParameter(
      'envelope',
      'must be array in this dialect; items go with openai and openai-strict',
    )
  return envelope
}

function parseNames(query: Query): ListQuery['names'] {
  const names = parseNameFilter([...query.all('names'), ...query.all('name'), ...query.all('only')])
  if (names !== 'all' && 'fault' in names) throw invalidParameter('names', names.fault)
  return names
}

/** A reader's HTTP client may refuse headers above 16 KB, so a longer address is not repeated in one. */
const LINK_LENGTH_MAX = 8_192

function nextLink(path: string, search: string, cursor: string): string {
  const next = new URLSearchParams(search)
  next.set('cursor', cursor)
  // A function that is called directly does not see what its path began with: the reader knows the address it asked.
  const link = `<${path.startsWith('/tools/') ? '' : path}?${next.toString()}>; rel="next"`
  if (link.length > LINK_LENGTH_MAX)
    throw invalidParameter('limit', 'cannot be used with so many names; leave it out')
  return link
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 27)
}
