import { errorBody, formatScope, ToolrackError } from '@toolrack/contract'
import { READ } from '../../access/action.ts'
import type { Principal } from '../../access/principal.ts'
import { parseObject } from '../../parse-object.ts'
import { findBearerToken } from '../../access/authenticate.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { Turns } from '../../loop-turn.ts'
import { layersText } from '../../catalog/views/list-answer.ts'
import { FILTER_VALUES_MAX } from '../../catalog/views/list-query.ts'
import { isGone, type ChangeFeeds, type Feed } from './change-feeds.ts'
import type { ViewFilter } from '../../catalog/views/view-filter.ts'
import { isRevision, type Filtered, type PastViews } from './past-views.ts'
import { changesBetween, feedRevision, isEmpty } from './tool-changes.ts'
import type { FeedFilter, ToolChanges } from './tool-changes.ts'
import { callAnswer } from '../../http/accept.ts'
import { callerGone } from '../../http/caller.ts'
import { EventStream } from '../../http/event-stream.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { isWritten } from '../scopes/asked-scopes.ts'
import {
  askedListFilter,
  LIST_FILTER_PARAMETERS,
  currentListFilter,
  viewFilter,
  type AskedListFilter,
} from '../list/list-filter.ts'
import { parseNames, parseWith } from '../list/list-parameters.ts'
import type { IncomingMessage } from 'node:http'
import type { ListFilterParts } from '../list/list-filter.ts'

/** Milliseconds that a poll waits for a change. Proxies and Hosting wait longer for an answer. */
export const POLL_MS = 25_000

type Parts = ListFilterParts & {
  readonly changes: {
    readonly feeds: ChangeFeeds<Principal & Filtered>
    readonly views: PastViews<Principal & Filtered>
  }
  /** True for a request that came through a proxy that passes on an answer only when it is whole. */
  readonly isBehindBuffer?: ((request: IncomingMessage) => boolean) | undefined
}
type Asked = {
  readonly since: string | undefined
  readonly filter: FeedFilter
  readonly listFilter: AskedListFilter | undefined
}
type Request = KnownRequest<'/tools/changes', Asked>
type ChangeRequest = Request & {
  readonly feed: Feed
  readonly present: CatalogView
  readonly viewer: Principal & Filtered
  /** Aborted when the reader has left. */
  readonly gone: AbortSignal
}

/** `GET /tools/changes`: answers what has changed in the caller's list since a revision, or waits until something changes. */
export function changesRoute(parts: Parts): Route {
  const { changes, isBehindBuffer = () => false } = parts
  return route({
    method: 'GET',
    path: '/tools/changes',
    schemas: async () => (await import('./change-schemas.ts')).CHANGES,
    ask: askedChanges,
    action: READ,
    async handle(request: Request) {
      const { principal, req, res, asked } = request
      const { wants, takesJson } = callAnswer(req.headers.accept)
      const isBuffered = isBehindBuffer(req)
      if (wants === 'events' && isBuffered && !takesJson) throw new ToolrackError('NOT_ACCEPTABLE', NO_STREAM)
      const viewer = viewerOf(parts, principal, asked.listFilter)
      const feed = changes.feeds.open(viewer, tokenEnd(req.headers.authorization))
      const gone = callerGone(res)
      gone.addEventListener('abort', () => feed.end(), { once: true })
      if (gone.aborted) feed.end()
      try {
        const present = await feed.read()
        refuseLost(present)
        const known = { ...request, feed, present, viewer, gone }
        if (wants === 'events' && !isBuffered) await stream(changes, known)
        else await poll(changes, known)
      } finally {
        feed.end()
      }
    },
  })
}

/** Answers a poll: at once if there is a change, or if the caller names no revision. */
async function poll({ views }: Parts['changes'], request: ChangeRequest): Promise<void> {
  const { viewer, asked, feed, present, res, gone } = request
  const { since, filter } = asked
  if (since === undefined) return sendChanges(request, await changesBetween(present, present, filter, gone))
  let last = await views.at(viewer, since)
  if (!last) throw new ToolrackError('REVISION_UNKNOWN')
  const clock = setTimeout(() => feed.end(), POLL_MS).unref()
  try {
    for (let view: CatalogView | undefined = present; view; view = await feed.after(last)) {
      const changes = await changesInTurn(last, view, filter, gone)
      if (!isEmpty(changes)) return sendChanges(request, changes)
      last = view
    }
  } finally {
    clearTimeout(clock)
  }
  res.writeHead(204, { ...NOT_STORED, 'X-Tools-Revision': feedRevision(last) }).end()
}

/** Sends each change as an event. A slow reader gets all changes that it has missed as one event. */
async function stream({ views }: Parts['changes'], request: ChangeRequest): Promise<void> {
  const { viewer, asked, feed, present, res, gone } = request
  const { since, filter } = asked
  const events = new EventStream(res, { comment: 'no change' })
  let last = since === undefined ? present : await views.at(viewer, since)
  events.open()
  if (!last) await events.send('reset', { revision: feedRevision(present) }, feedRevision(present))
  else if (since === undefined) await sendEvent(events, await changesBetween(present, present, filter, gone))
  last ??= present
  try {
    for (let view: CatalogView | undefined = present; view; view = await feed.after(last)) {
      const changes = await changesInTurn(last, view, filter, gone)
      if (!isEmpty(changes)) await sendEvent(events, changes)
      last = view
    }
  } catch (error) {
    if (!isGone(error)) throw error
    return events.end('gone', errorBody(error))
  }
  events.close()
}

/** Finds the next changes for a feed. Many feeds are woken together, so other requests get a turn before each of them. */
async function changesInTurn(
  last: CatalogView,
  view: CatalogView,
  filter: FeedFilter,
  gone: AbortSignal,
): Promise<ToolChanges> {
  await new Turns(gone).give()
  return changesBetween(last, view, filter, gone)
}

/** The viewer of the feed: the caller, with the session and the scopes that filter the caller's list. */
function viewerOf(
  parts: Parts,
  principal: Principal,
  asked: AskedListFilter | undefined,
): Principal & Filtered {
  if (!asked) return principal
  const { session, scopes } = asked
  const texts = scopes.map((scope) => (isWritten(scope) ? formatScope(scope.scope) : [scope.kind, scope.id]))
  const key = JSON.stringify([session ?? null, texts])
  async function present(): Promise<ViewFilter> {
    return viewFilter(await currentListFilter(parts, principal.uid, { session, scopes }))
  }
  return { ...principal, filtered: { key, present } }
}

function sendEvent(events: EventStream, changes: ToolChanges): Promise<void> | undefined {
  return events.send('changes', changes, changes.revision)
}

function sendChanges({ res }: Request, changes: ToolChanges): void {
  sendJson(res, 200, changes, { ...NOT_STORED, 'X-Tools-Revision': changes.revision })
}

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

function askedChanges({ search, req }: FoundRequest): Asked {
  const query = new Query(search, [
    'since',
    'names',
    'name',
    'only',
    'tags',
    'category',
    'with',
    ...LIST_FILTER_PARAMETERS,
  ])
  const since = query.one('since')
  if (since !== undefined && !isRevision(since))
    throw invalidParameter('since', 'is no revision; take it from X-Tools-Revision or from a change')
  // A reader that connects again asks for the same address, and sends the id of its last event.
  const lastId = req.headers['last-event-id']?.toString()
  if (lastId !== undefined && !isRevision(lastId))
    throw new ToolrackError('HEADER_INVALID', 'Last-Event-ID is no revision; leave it out, and list again.')
  const filter = {
    names: parseNames(query),
    tags: query.set('tags', FILTER_VALUES_MAX),
    categories: query.set('category', FILTER_VALUES_MAX),
    withSearch: parseWith(query).size > 0,
  }
  return { since: lastId ?? since, filter, listFilter: askedListFilter(query) }
}

/** Throws LAYER_UNAVAILABLE if a layer or rules could not be read. Otherwise the missing tools would look like removed tools. */
function refuseLost(view: CatalogView): void {
  if (view.lostLayers.length === 0 && !view.hasLostRules) return
  const details = [{ reason: 'LAYER_UNAVAILABLE', layers: layersText(view) } as const]
  throw new ToolrackError('LAYER_UNAVAILABLE', undefined, { details })
}

/**
 * The time at which the token of a request expires, in milliseconds since 1970. The token is already verified. The local token
 * never expires.
 */
function tokenEnd(authorization: string | undefined): number {
  const [, payload = ''] = findBearerToken(authorization)?.split('.') ?? []
  const exp = parseObject(Buffer.from(payload, 'base64url').toString())?.['exp']
  return typeof exp === 'number' ? exp * 1_000 : Infinity
}

const NO_STREAM =
  "Hosting passes on an answer only when it is whole, so it can stream no events. Call the function's own URL, or accept application/json to wait for one change at a time."
