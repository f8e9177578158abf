import { dialectRules, DIALECTS, isToolName, parseNameFilter, ToolrackError } from '@toolrack/contract'
import type { Dialect } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import { ENVELOPES, FILTER_VALUES_MAX, PAGE_MAX, readCursor } from '../../tools/catalog/list-query.ts'
import { dialectAnswer, layersText, listAnswer } from '../../tools/catalog/list-answer.ts'
import type { Envelope, ListQuery } from '../../tools/catalog/list-query.ts'
import { FairQueue } from '../../fair-queue.ts'
import { pauseMsAfter, STRETCH_MS } from '../../loop-turn.ts'
import { FragmentsInTurns } from '../../tools/catalog/dialect-fragments.ts'
import { callerGone } from '../http/caller.ts'
import { isNotModified } from '../http/entity-tag.ts'
import { invalidParameter, Query } from '../http/query.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../http/route.ts'
import { VERSION } from '../../version.ts'
import { explainName } from '../../tools/catalog/explain-name.ts'
import { JSON_HEADERS, sendJson } from '../http/send-json.ts'
import type { RouteParts } from './route-parts.ts'

/** A list in the form in which it is sent. It is made once for each revision and address. */
type SentList = {
  readonly etag: string
  readonly body: Buffer
  readonly headers: string[]
  readonly bodyHeaders: string[]
}

/** The most bytes of ready lists that a server keeps. The list of the whole catalog always fits. */
const SENT_BYTES_MAX = 64 * 1024 * 1024

/** The most lists of one user that may wait to be made. */
const WAITING_MAX = 100
const TOO_MANY = 'Too many of your lists are being made; ask for fewer at a time.'

/**
 * `GET /tools/list`: the definitions for the caller's model. Callers without their own definitions share lists. A ready list is
 * found by its address. The query is read only when a list is made.
 */
export function listRoute(parts: RouteParts): Route {
  const lists = new LRUCache<string, SentList>({ maxSize: SENT_BYTES_MAX, sizeCalculation: sentBytes })
  /** The time for a list depends on the user's own definitions, so each user's lists are made one at a time. */
  const making = new FairQueue(
    { places: 4, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )

  function send(request: KnownRequest, view: CatalogView): void | Promise<void> {
    const { principal, req, res } = request
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
          return makeList(parts, view, request, fragments)
        } finally {
          longestMs = Math.max(longestMs, performance.now() - sinceMs)
        }
      })
      const pauseMs = pauseMsAfter(longestMs - 2 * STRETCH_MS)
      if (view.hasOwn && pauseMs > 0) making.pause(principal.uid, pauseMs)
      lists.set(key, list)
      sendList(request, list)
    }
    return view.hasOwn ? making.run(principal.uid, make, callerGone(res)) : make()
  }

  return route({
    method: 'GET',
    path: '/tools/list',
    action: { verb: 'read' },
    handle(request) {
      const view = parts.listed.view(request.principal)
      return view instanceof Promise ? view.then((read) => send(request, read)) : send(request, view)
    },
  })
}

/** `GET /tools/explain`: the definition of a name in each layer, and which of them is used. */
export function explainRoute({ listed }: RouteParts): Route {
  return route({
    method: 'GET',
    path: '/tools/explain',
    ask({ search }) {
      const name = new Query(search, ['name']).required('name')
      if (!isToolName(name)) throw invalidParameter('name', 'must be one tool name or alias')
      return name
    },
    action: { verb: 'read' },
    async handle({ principal, asked: name, res }) {
      sendJson(res, 200, explainName(await listed.view(principal), name))
    },
  })
}

function sendList({ principal, req, res, unread }: KnownRequest, list: SentList): void {
  if (isNotModified(req.headers['if-none-match'], list.etag))
    return void res.writeHead(304, list.headers).end()
  unread.hold(principal.uid, res, list.body.length)
  res.writeHead(200, list.bodyHeaders).end(list.body)
}

/** The bytes that a list takes. V8 may store a header's text twice. Each entry of the two arrays takes memory too. */
function sentBytes({ body, headers, bodyHeaders }: SentList, key: string): number {
  const texts = [...headers, ...bodyHeaders].reduce((sum, text) => sum + text.length + 16, 0)
  return body.length + 2 * key.length + texts + 1_024
}

function makeList(
  { envelope, defaultWorkflow, invokeWorkflow }: RouteParts,
  view: CatalogView,
  { path, search }: FoundRequest,
  fragments: FragmentsInTurns,
): SentList {
  const query = parseListQuery(search, envelope)
  if (query.strict && !view.isWhole) {
    const details = [{ reason: 'LAYER_UNAVAILABLE', layers: layersText(view) } as const]
    throw new ToolrackError('LAYER_UNAVAILABLE', undefined, { details })
  }
  const { dialect } = query
  const workflows = { defaultWorkflow, invokeWorkflow }
  const answer =
    dialect === undefined
      ? listAnswer(view, query, workflows)
      : dialectAnswer(view, query, dialectRules(dialect), workflows, fragments)
  const { body, layers, unknown, quarantined, omitted, nextCursor } = answer
  const settings = [envelope, defaultWorkflow, invokeWorkflow ?? '']
  const version = [VERSION, view.revision, ...settings, search].join('\n')
  const etag = `"${createHash('sha256').update(version).digest('base64url').slice(0, 27)}"`
  const headers = {
    ETag: etag,
    'Cache-Control': 'private, no-cache',
    'X-Tools-Revision': view.revision,
    'X-Tools-Layers': layers,
    ...(unknown !== undefined && { 'X-Tools-Unknown': unknown }),
    ...(quarantined !== undefined && { 'X-Tools-Quarantined': quarantined }),
    ...(omitted !== undefined && { 'X-Tools-Omitted': omitted }),
    ...(nextCursor !== undefined && { Link: nextLink(path, search, nextCursor) }),
  }
  const bodyHeaders = { ...JSON_HEADERS, ...headers, 'Content-Length': String(body.length) }
  return {
    etag,
    body,
    headers: Object.entries(headers).flat(),
    bodyHeaders: Object.entries(bodyHeaders).flat(),
  }
}

const FILTERS = ['names', 'name', 'only', 'tags', 'category', 'dialect', 'envelope', 'strict']

/** Reads the query of a list. An unknown parameter is an error: a list without its filter could contain every tool. */
export function parseListQuery(search: string, envelope: Envelope): ListQuery {
  const query = new Query(search, [...FILTERS, 'limit', 'cursor'])
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

/** The envelope of a list in a dialect. The default is always `array`, because a vendor's `tools` field is an array. */
function envelopeIn(dialect: Dialect, query: Query): Envelope {
  const envelope = query.choice('envelope', ENVELOPES, 'array')
  if (envelope === 'items' && !dialectRules(dialect).allowsItems) {
    const allowed = DIALECTS.filter((one) => dialectRules(one).allowsItems)
    const fault = `must be array in this dialect; items go with ${allowed.join(' and ')}`
    throw invalidParameter('envelope', fault)
  }
  return envelope
}

/** The names that a query asks for. Throws PARAMETER_INVALID. */
export function parseNames(query: Query): ListQuery['names'] {
  const names = parseNameFilter([...query.all('names'), ...query.all('name'), ...query.all('only')])
  if (names !== 'all' && 'fault' in names) throw invalidParameter('names', names.fault)
  return names
}

/** The longest address in a `Link` header. HTTP clients may refuse headers above 16 KB. */
const LINK_LENGTH_MAX = 8_192

function nextLink(path: string, search: string, cursor: string): string {
  const next = new URLSearchParams(search)
  next.set('cursor', cursor)
  // A Cloud Function that is called directly does not know the beginning of its path, so the link is relative.
  const link = `<${path.startsWith('/tools/') ? '' : path}?${next.toString()}>; rel="next"`
  if (link.length <= LINK_LENGTH_MAX) return link
  throw invalidParameter('limit', 'cannot be used with so many names; leave it out')
}
