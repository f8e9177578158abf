import { formatScope } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView, LeftOut, ListFilter } from '../../catalog/views/catalog-view.ts'
import type { ViewFilter } from '../../catalog/views/view-filter.ts'
import { scopeFilter, unmatchedItems, type AppliedScope } from '../scopes/scope-filter.ts'
import type { ScopeOwner } from '../scopes/kept-scope.ts'
import { scopeNotFound } from '../scopes/stored-scopes.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'
import { isSelected, whyNotInSession } from '../../catalog/views/why-not-in-session.ts'
import type { Query } from '../../http/query.ts'
import { askedScopes, isOwner, isWritten, REF, scopeOwner } from '../scopes/asked-scopes.ts'
import { sessionIn } from '../sessions/asked-session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { StoredScopes } from '../scopes/stored-scopes.ts'

/** Where sessions and stored scopes are found, which filter lists. */
export type ListFilterParts = { readonly sessions: Sessions; readonly scopes: StoredScopes }

/**
 * The session and the scopes that filter a list. A list is filtered in this order: the principal's view (with rules), the
 * session's selection, the scopes, the other parameters of the query, the search and the budget. Each of them can only leave
 * tools out or order them.
 */
export type ResolvedListFilter = {
  /**
   * Equal for an equal session, scopes and pinned tools. It is part of the key under which a list is kept, and of the list's
   * entity tag.
   */
  readonly revision: string
  readonly session?: SessionSelection
  /** A tool must be in all scopes, unless it is pinned. */
  readonly scopes: readonly AppliedScope[]
  /** The names of pinned tools, which no scope leaves out. The view and the session's selection can still leave them out. */
  readonly pinned: ReadonlySet<string>
}

/** The parameters that name a session and scopes. */
export const LIST_FILTER_PARAMETERS = ['scope', 'session'] as const

/** The session and the scopes that a query names. */
export type AskedListFilter = {
  readonly session: string | undefined
  readonly scopes: readonly (AppliedScope | ScopeOwner)[]
}

/** Reads from a query which session and scopes it names. Undefined if it names none. */
export function askedListFilter(query: Query): AskedListFilter | undefined {
  const session = sessionIn(query)
  const scopes = askedScopes(query.all('scope'))
  return session === undefined && scopes.length === 0 ? undefined : { session, scopes }
}

/** The present session and scopes that a query names. Undefined if it names none. Not a promise if nothing has to be read. */
export function resolveListFilter(
  parts: ListFilterParts,
  { uid }: Principal,
  query: Query,
): ResolvedListFilter | undefined | Promise<ResolvedListFilter> {
  const asked = askedListFilter(query)
  return asked && currentListFilter(parts, uid, asked)
}

/** The present state of the session and the scopes that a query names. Throws SESSION_NOT_FOUND or SCOPE_NOT_FOUND. */
export function currentListFilter(
  parts: ListFilterParts,
  uid: string,
  { session, scopes }: AskedListFilter,
): ResolvedListFilter | Promise<ResolvedListFilter> {
  if (session !== undefined || scopes.some(isOwner)) return readListFilter(parts, uid, scopes, session)
  return withRevision({ scopes: scopes.filter(isWritten), pinned: new Set() })
}

/**
 * Reads the session and the stored scopes. A stored scope that the query names must exist. A session also brings the stored
 * scopes of itself, of its room, of its agent and of its workflow, if these exist.
 */
async function readListFilter(
  { sessions, scopes: stored }: ListFilterParts,
  uid: string,
  asked: readonly (AppliedScope | ScopeOwner)[],
  sessionId: string | undefined,
): Promise<ResolvedListFilter> {
  const session = sessionId === undefined ? undefined : await sessions.selectionOf(uid, sessionId)
  const named = asked.filter(isOwner)
  const owners = [...named, ...(session ? ownersOf(session) : [])]
  const found = await Promise.all(
    owners.map(async (owner, index) => {
      const kept = await stored.find(uid, owner)
      if (!kept && index < named.length) throw scopeNotFound(owner)
      const from = `${REF}${owner.kind}/${owner.id}`
      return kept ? [{ from, scope: kept.scope, pinned: kept.present.pinned }] : []
    }),
  )
  return withRevision({
    ...(session && { session }),
    scopes: [...asked.filter(isWritten), ...found.flat()],
    pinned: new Set(found.flat().flatMap(({ pinned }) => pinned)),
  })
}

/** The owners whose stored scopes apply because of a session. An id that no stored scope can have is left out. */
function ownersOf({ id, room, agent, workflow }: SessionSelection): readonly ScopeOwner[] {
  return Object.entries({ room, session: id, agent, workflow }).flatMap(
    ([kind, owner]) => (owner === undefined ? undefined : scopeOwner(kind, owner)) ?? [],
  )
}

/**
 * The view without the tools that the session and the scopes leave out. The same view if there is neither a session nor a scope.
 */
export function filteredView(view: CatalogView, by: ResolvedListFilter | undefined): CatalogView {
  return by ? view.filteredBy(filterOf(by)) : view
}

/**
 * A view without the tools that the session and the scopes leave out. `unmatched` is the value of the header
 * `X-Tools-Scope-Unmatched`: the items of the scopes that match no tool. It is undefined if there are none.
 */
export type FilteredList = {
  readonly view: CatalogView
  readonly revision: string
  readonly unmatched: string | undefined
  /**
   * The names of tools that are listed, but cannot be called through the session, because they have changed since it was locked.
   */
  readonly changed: readonly string[]
}

/**
 * Filters as `filteredView` does, in turns with other requests. Also finds the items of scopes that match no tool, so that a
 * misspelled item is noticed. For a job token, the items of stored scopes are left out: its holder may use a stored scope, but
 * not read it.
 */
export function* filteredList(
  view: CatalogView,
  by: ResolvedListFilter,
  { grant }: Principal,
): Pieces<FilteredList> {
  const { leavesOut } = filterOf(by)
  const leftOut = new Map<CatalogEntry, LeftOut>()
  const selected: CatalogEntry[] = []
  for (const entry of yield* view.shown()) {
    yield
    const reason = leavesOut(entry)
    if (reason) leftOut.set(entry, reason)
    if (reason !== NOT_SELECTED) selected.push(entry)
  }
  const shown = by.scopes.filter(({ from }) => !grant || !from.startsWith(REF))
  const scopes = shown.map(({ scope }) => scope)
  const items = yield* unmatchedItems(selected, scopes)
  const filtered = view.filteredBy({ revision: by.revision, leavesOut: (entry) => leftOut.get(entry) })
  return {
    view: filtered,
    changed: changedTools(filtered, by),
    revision: by.revision,
    unmatched: items.length === 0 ? undefined : headerOf(items),
  }
}

export function filterOf({ revision, session, scopes, pinned }: ResolvedListFilter): ListFilter {
  const outOfScope = scopeFilter(scopes, pinned)
  return {
    revision,
    leavesOut: (entry) => (session && !isSelected(session, entry.name) ? NOT_SELECTED : outOfScope(entry)),
  }
}

/**
 * How many bytes are counted for a name, and for a character of a scope. A scope is kept as parsed items, which take much memory.
 */
const BYTES = { name: 300, character: 50 } as const

/** The filter of a list, as it is remembered for feeds, with the bytes of memory that it takes. */
export function viewFilter(listFilter: ResolvedListFilter): ViewFilter {
  const { session, scopes, pinned } = listFilter
  const names = (session && session.names !== 'all' ? session.names.size : 0) + (session?.digests?.size ?? 0)
  const characters = scopes.reduce((sum, { scope }) => sum + formatScope(scope).length, 0)
  const bytes = (names + pinned.size) * BYTES.name + characters * BYTES.character
  return { filter: filterOf(listFilter), session, bytes }
}

function changedTools(view: CatalogView, { session }: ResolvedListFilter): readonly string[] {
  if (!session?.digests) return []
  return [...session.digests.keys()].filter((name) => {
    const entry = view.resolve(name)
    return entry && whyNotInSession(session, entry)?.reason === 'DIGEST_CHANGED'
  })
}

const ITEMS_IN_HEADER = 20

function headerOf(items: readonly string[]): string {
  const more = items.length - ITEMS_IN_HEADER
  const texts = items.slice(0, ITEMS_IN_HEADER).map(headerText)
  return [...texts, ...(more > 0 ? [`+${more}`] : [])].join(',')
}

/**
 * Writes an item of a scope for a header. Categories and tags may have any characters, so the characters that a header cannot
 * have are percent-encoded.
 */
function headerText(item: string): string {
  return item.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x7E]/gu, encodeURIComponent)
}

function withRevision({ session, scopes, pinned }: Omit<ResolvedListFilter, 'revision'>): ResolvedListFilter {
  const contents = [
    session?.revision ?? null,
    scopes.map(({ from, scope }) => [from, formatScope(scope)]),
    [...pinned].toSorted(),
  ]
  const revision = createHash('sha256').update(JSON.stringify(contents)).digest('base64url').slice(0, 22)
  return { revision, ...(session && { session }), scopes, pinned }
}

const NOT_SELECTED: LeftOut = {
  reason: 'NOT_SELECTED',
  message:
    'The tool is not in the selection of the session, so it is not listed and cannot be called through it. Choose it for the session; if the session is locked, fork it.',
}
