import { isToolName, ToolrackError } from '@toolrack/contract'
import { READ } from '../../access/action.ts'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { dialectAnswer, layersText, listAnswer, namesText } from '../../catalog/views/list-answer.ts'
import type { ListAnswer } from '../../catalog/views/list-answer.ts'
import type { ListQuery } from '../../catalog/views/list-query.ts'
import { listRules } from '../../catalog/views/list-rules.ts'
import { FairQueue } from '../../fair-queue.ts'
import { pauseMsAfter, STRETCH_MS, Turns, type Pieces } from '../../loop-turn.ts'
import { SharedWork } from '../../shared-work.ts'
import { callerGone } from '../../http/caller.ts'
import { isNotModified } from '../../http/entity-tag.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { billText } from '../../catalog/views/counted-answer.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'
import { whyNotInSession } from '../../catalog/views/why-not-in-session.ts'
import { NO_RANK, type UsageRank } from '../../catalog/views/usage-rank.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { VERSION } from '../../version.ts'
import { explainName } from '../../catalog/views/explain-name.ts'
import { JSON_HEADERS, sendJson } from '../../http/send-json.ts'
import {
  filteredView,
  filteredList,
  resolveListFilter,
  currentListFilter,
  LIST_FILTER_PARAMETERS,
  viewFilter,
  type ResolvedListFilter,
  type FilteredList,
} from './list-filter.ts'
import { checkedSession } from '../sessions/asked-session.ts'
import type { SentTools } from '../statistics/list-tokens.ts'
import { AskedLists } from './asked-lists.ts'
import { countedAnswerOf, explainBudget } from './list-budget.ts'
import { EXPLAINED_LIST, listQueryIn } from './list-parameters.ts'
import { foundList, type FoundList } from './list-search.ts'
import type { ListParts } from './list-parts.ts'
import { unavailableTools } from './unavailable-tools.ts'

/** A list, ready to be sent. It is made once for each revision and address. */
type SentList = {
  readonly etag: string
  readonly body: Buffer
  readonly headers: string[]
  readonly bodyHeaders: string[]
  /** The tools in the body, for the statistics. */
  readonly contents: SentTools
}

/** The most bytes of ready lists that a server keeps. The list of the whole catalog always fits. */
const SENT_BYTES_MAX = 64 * 1024 * 1024

/**
 * How many lists are made at the same time, in turns. Because of the turns, many long lists delay a short one only a little. Each
 * list may hold an answer of 25 MB and the definitions of its user in memory.
 */
const LISTS_AT_ONCE = 32
/** The most lists of one user that may wait to be made, so that the queue cannot grow without end. */
const WAITING_MAX = 100
const TOO_MANY = 'Too many of your lists are being made; ask for fewer at a time.'

/**
 * `GET /tools/list`: the tools for the caller's model. `GET /sessions/{id}/tools`: the tools of a session. Callers without
 * definitions of their own share the kept lists. A kept list is found by its address.
 */
export function listRoutes(parts: ListParts): readonly Route[] {
  const asked = new AskedLists(parts)
  const lists = new LRUCache<string, SentList>({ maxSize: SENT_BYTES_MAX, sizeCalculation: sentBytes })
  /** The time for a list depends on the user's own definitions, so each user's lists are made one at a time. */
  const queue = new FairQueue(
    { places: LISTS_AT_ONCE, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )
  /** Lists that are being made, by user and key. If a user asks again for such a list, both requests wait for the same work. */
  const making = new SharedWork<string, SentList>()

  function respond(request: KnownRequest, session?: string): void | Promise<void> {
    const { query, listFilter: wanted } = asked.read(request.search, session)
    if (!wanted) return viewed(request, query)
    const listFilter = currentListFilter(parts, request.principal.uid, wanted)
    return listFilter instanceof Promise
      ? listFilter.then((read) => viewed(request, query, read))
      : viewed(request, query, listFilter)
  }

  function viewed(
    request: KnownRequest,
    query: ListQuery,
    listFilter?: ResolvedListFilter,
  ): void | Promise<void> {
    // A feed that goes on from this list must know the list's filter, also after the next change.
    if (listFilter)
      parts.changes.views.know(request.principal.uid, listFilter.revision, () => viewFilter(listFilter))
    const view = parts.listed.view(request.principal, listFilter?.session)
    return view instanceof Promise
      ? view.then((read) => ranked(request, query, read, listFilter))
      : ranked(request, query, view, listFilter)
  }

  function ranked(
    request: KnownRequest,
    query: ListQuery,
    view: CatalogView,
    listFilter?: ResolvedListFilter,
  ): void | Promise<void> {
    if (query.budget === undefined) return send(request, query, view, listFilter)
    const rank = parts.usageRanks.of(request.principal.uid)
    return rank instanceof Promise
      ? rank.then((read) => send(request, query, view, listFilter, read))
      : send(request, query, view, listFilter, rank)
  }

  function send(
    request: KnownRequest,
    asked: ListQuery,
    view: CatalogView,
    listFilter?: ResolvedListFilter,
    rank: UsageRank = NO_RANK,
  ): void | Promise<void> {
    const { principal, req, res } = request
    const owner = view.hasOwn ? `${principal.uid} ` : ''
    const query = asked.healthy ? { ...asked, unavailable: parts.circuits.openFor(principal.uid) } : asked
    const ofQuery = [listFilter?.revision, rank.revision, unavailableRevision(query)]
    const revisions = ofQuery.filter((revision) => revision)
    const key = `${owner}${[view.revision, ...revisions].join(' ')} ${req.url}`
    const ready = lists.get(key)
    if (ready) return sendList(parts, request, ready)
    const wanted = { view, query, request, listFilter, rank }
    return making
      .run(`${principal.uid} ${key}`, callerGone(res), (allLeft) => {
        const make = async (): Promise<SentList> => {
          // While this request waited, another one may have made the list.
          const list = lists.get(key) ?? (await made(wanted, new Turns(allLeft), allLeft))
          lists.set(key, list)
          return list
        }
        return queue.run(principal.uid, make, allLeft)
      })
      .then((list) => sendList(parts, request, list))
  }

  /** Makes a list. `allLeft` is aborted when nobody waits for the list any more. */
  async function made(wanted: NewList, turns: Turns, allLeft: AbortSignal): Promise<SentList> {
    const { view: whole, query, request, listFilter, rank } = wanted
    const { principal } = request
    const filtered = listFilter && (await turns.run(filteredList(whole, listFilter, principal)))
    const asked = askedList(whole, query, request, listFilter, filtered, rank)
    const unavailable = namesText(await turns.run(unavailableTools(asked.view, query)))
    const list = { ...asked, unavailable }
    const found = await foundList(parts, list.view, principal.uid, list.query, allLeft)
    const sent = list.query.countsTokens
      ? await countedList(parts, list, found, turns)
      : sentList(parts, list, await turns.run(answerTo(parts, list, found)))
    const pauseMs = pauseMsAfter(turns.longestMs - 2 * STRETCH_MS)
    if (pauseMs > 0) queue.pause(principal.uid, pauseMs)
    return sent
  }

  return [
    route({
      method: 'GET',
      path: '/tools/list',
      schemas: async () => (await import('./list-schemas.ts')).LIST_TOOLS,
      action: READ,
      handle: (request) => respond(request),
    }),
    route({
      method: 'GET',
      path: '/sessions/:id/tools',
      schemas: async () => (await import('./list-schemas.ts')).LIST_SESSION_TOOLS,
      action: READ,
      handle: (request) => respond(request, checkedSession(request.params.id)),
    }),
  ]
}

/** `GET /tools/explain`: the definition of a name in each layer, and which of them is used. */
export function explainRoute(parts: ListParts): Route {
  return route({
    method: 'GET',
    path: '/tools/explain',
    schemas: async () => (await import('./list-schemas.ts')).EXPLAIN,
    ask({ search }) {
      const query = new Query(search, ['name', ...LIST_FILTER_PARAMETERS, ...EXPLAINED_LIST])
      const name = query.required('name')
      if (!isToolName(name)) throw invalidParameter('name', 'must be one tool name or alias')
      return { name, query, list: listQueryIn(query, ['names', 'only'], parts) }
    },
    action: READ,
    async handle({ principal, asked: { name, query, list }, res }) {
      const gone = callerGone(res)
      const turns = new Turns(gone)
      const listFilter = await resolveListFilter(parts, principal, query)
      const view = await parts.listed.view(principal, listFilter?.session)
      const asksOfAll = list.budget !== undefined || list.q !== undefined
      const listed =
        listFilter && asksOfAll
          ? (await turns.run(filteredList(view, listFilter, principal))).view
          : filteredView(view, listFilter)
      const rank = list.budget === undefined ? NO_RANK : await parts.usageRanks.of(principal.uid)
      const found = await foundList(parts, listed, principal.uid, list, gone)
      const asked = { view: listed, query: list, listFilter, rank }
      const budget = await explainBudget(parts, asked, found?.entries, name, turns)
      const explained = await turns.run(explainName(filteredView(view, listFilter), name))
      const entry = view.meaning(name)
      const refused = whyRefused(entry, listFilter?.session)
      const circuit = explained.callable === 'service' && entry && parts.circuits.of(principal.uid, entry)
      sendJson(res, 200, {
        ...explained,
        ...(circuit && { circuit }),
        ...(refused && { refused }),
        ...(budget && { budget }),
      })
    },
  })
}

/**
 * Says why a selected tool cannot be called through a locked session: its definition has changed since the lock. Otherwise
 * undefined.
 */
function whyRefused(entry: CatalogEntry | undefined, session: SessionSelection | undefined) {
  const why = entry && session && whyNotInSession(session, entry)
  return why?.reason === 'DIGEST_CHANGED' ? why : undefined
}

/** A text that changes when the list leaves out other tools because of their circuits. */
function unavailableRevision({ unavailable }: ListQuery): string {
  return unavailable ? [...unavailable].toSorted().join() : ''
}

function sendList(
  { countList }: ListParts,
  { principal, req, res, unread }: KnownRequest,
  list: SentList,
): void {
  const isSame = isNotModified(req.headers['if-none-match'], list.etag)
  // A client that has the list already gives it to its model again.
  countList?.(principal.uid, list.contents, isSame)
  if (isSame) return void res.writeHead(304, list.headers).end()
  unread.hold(principal.uid, res, list.body.length)
  res.writeHead(200, list.bodyHeaders).end(list.body)
}

/**
 * How many bytes a list takes in memory. V8 may store a header's text twice. Each header also takes memory for its entry in an
 * array.
 */
function sentBytes({ headers, bodyHeaders, contents }: SentList, key: string): number {
  const texts = [...headers, ...bodyHeaders].reduce((sum, text) => sum + text.length + 16, 0)
  return contents.bytes + 2 * key.length + texts + 1_024
}

/** The bytes of memory for the place of one tool in a list. Its name is a part of the catalog. */
const PLACE_BYTES = 64

/** A request for a list that must still be made. */
type NewList = {
  readonly view: CatalogView
  readonly query: ListQuery
  readonly request: KnownRequest
  readonly listFilter: ResolvedListFilter | undefined
  readonly rank: UsageRank
}

/** What a list is made from. */
type AskedList = Pick<FoundRequest, 'path' | 'search'> & {
  readonly view: CatalogView
  readonly query: ListQuery
  readonly listFilter: ResolvedListFilter | undefined
  /** Texts of headers. */
  readonly unmatched: string | undefined
  readonly changed: string | undefined
  readonly unavailable?: string | undefined
  readonly rank: UsageRank
}

function askedList(
  whole: CatalogView,
  query: ListQuery,
  { path, search }: FoundRequest,
  listFilter: ResolvedListFilter | undefined,
  filtered: FilteredList | undefined,
  rank: UsageRank,
): AskedList {
  const { view = whole, unmatched, changed = [] } = filtered ?? {}
  if (query.strict && !view.isWhole) {
    const details = [{ reason: 'LAYER_UNAVAILABLE', layers: layersText(view) } as const]
    throw new ToolrackError('LAYER_UNAVAILABLE', undefined, { details })
  }
  return { view, query, listFilter, unmatched, changed: namesText(changed), rank, path, search }
}

function answerTo(
  parts: ListParts,
  { view, query }: AskedList,
  found: FoundList | undefined,
): Pieces<ListAnswer> {
  const rules = listRules(query)
  if (!rules) return listAnswer(view, query, parts, found?.entries, found?.notes)
  return dialectAnswer(view, query, rules, parts, parts.catalog.fragments, found?.entries)
}

async function countedList(
  parts: ListParts,
  asked: AskedList,
  found: FoundList | undefined,
  turns: Turns,
): Promise<SentList> {
  const answer = await countedAnswerOf(parts, asked, found?.entries, turns)
  return sentList(parts, asked, answer, billText(answer.bill))
}

function sentList(
  { envelope, itemNames = 'canonical', defaultWorkflow, invokeWorkflow }: ListParts,
  { view, query, listFilter, unmatched, changed, unavailable, rank, path, search }: AskedList,
  { body, tools, layers, unknown, leftOut, quarantined, omitted, nextCursor }: ListAnswer,
  tokens?: string,
): SentList {
  const revisions = [view.revision, listFilter?.revision ?? '', rank.revision, unavailableRevision(query)]
  const settings = [envelope, itemNames, defaultWorkflow, invokeWorkflow ?? '']
  const version = [VERSION, ...revisions, ...settings, search].join('\n')
  const etag = `"${createHash('sha256').update(version).digest('base64url').slice(0, 27)}"`
  const headers = {
    ETag: etag,
    'Cache-Control': 'private, no-cache',
    'X-Tools-Revision': view.listRevision,
    'X-Tools-Layers': layers,
    ...(unknown !== undefined && { 'X-Tools-Unknown': unknown }),
    ...(leftOut !== undefined && { 'X-Tools-Left-Out': leftOut }),
    ...(unmatched !== undefined && { 'X-Tools-Scope-Unmatched': unmatched }),
    ...(quarantined !== undefined && { 'X-Tools-Quarantined': quarantined }),
    ...(omitted !== undefined && { 'X-Tools-Omitted': omitted }),
    ...(unavailable !== undefined && { 'X-Tools-Unavailable': unavailable }),
    ...(changed !== undefined && { 'X-Tools-Changed': changed }),
    ...(tokens !== undefined && { 'X-Tools-Tokens': tokens }),
    ...(nextCursor !== undefined && { Link: nextLink(path, search, nextCursor) }),
  }
  const bodyHeaders = { ...JSON_HEADERS, ...headers, 'Content-Length': String(body.length) }
  return {
    etag,
    body,
    contents: { body, tools, bytes: body.length + PLACE_BYTES * tools.length },
    headers: Object.entries(headers).flat(),
    bodyHeaders: Object.entries(bodyHeaders).flat(),
  }
}

/** The most characters of an address in a `Link` header. HTTP clients may refuse headers above 16 KB. */
const LINK_LENGTH_MAX = 8_192

function nextLink(path: string, search: string, cursor: string): string {
  const next = new URLSearchParams(search)
  next.set('cursor', cursor)
  // The link is relative, because a Cloud Function that is called directly does not know the beginning of its path.
  const link = `<${/^\/(?:tools|sessions)\//.test(path) ? '' : path}?${next.toString()}>; rel="next"`
  if (link.length <= LINK_LENGTH_MAX) return link
  throw invalidParameter('limit', 'cannot be used with so many names; leave it out')
}
