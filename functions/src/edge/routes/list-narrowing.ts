import { formatScope, parseScope, scopeFaultText, ToolrackError } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import { LongWork } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView, LeftOut, ListFilter } from '../../tools/catalog/catalog-view.ts'
import { scopeFilter, unmatchedItems, type AppliedScope } from '../../tools/scopes/scope-filter.ts'
import type { ScopeOwner } from '../../tools/scopes/scope-store.ts'
import { scopeNotFound } from '../../tools/scopes/stored-scopes.ts'
import type { SessionSelection } from '../../tools/sessions/session-selection.ts'
import { invalidParameter, type Query } from '../http/query.ts'
import type { RouteParts } from './route-parts.ts'
import { SCOPE_OWNER_RULE, scopeOwner } from './scope-owner.ts'

/**
 * What narrows a list, beside the principal's view and the filters of the address. The order is: the view (with rules), the
 * session's selection, the scopes, then the search and the budget. Each of them only leaves tools out or orders them.
 */
export type ListNarrowing = {
  /** Equal for equal contents. It is part of the key under which a list is kept, and of its entity tag. */
  readonly revision: string
  readonly session?: SessionSelection
  /** A tool must be in all of them. */
  readonly scopes: readonly AppliedScope[]
  /** The names of tools that stay in the list whatever the scopes say. They do not get past the view and the selection. */
  readonly pinned: ReadonlySet<string>
}

/** The parameters that `narrowingOf` reads. */
export const NARROWING_PARAMETERS = ['scope'] as const

/** The most scopes in one query. Each of them is compared with every tool. */
const SCOPES_MAX = 8

const MAY_NARROW = new RegExp(`(?:^|&)(?:${NARROWING_PARAMETERS.join('|')}|[^=&]*%)`)

/** False if the query certainly has no parameter of `narrowingOf`, so that most lists do not parse it. */
export function mayNarrow(search: string): boolean {
  return MAY_NARROW.test(search)
}

/** Undefined if the query has none of these parameters. Not a promise if nothing has to be read. */
export function narrowingOf(
  { scopes: stored }: Pick<RouteParts, 'scopes'>,
  { uid }: Principal,
  query: Query,
): ListNarrowing | undefined | Promise<ListNarrowing> {
  const texts = query.all('scope')
  if (texts.length === 0) return undefined
  if (texts.length > SCOPES_MAX)
    throw invalidParameter('scope', `is given ${texts.length} times; at most ${SCOPES_MAX} are allowed`)
  const asked = texts.map(askedScope)
  const written = asked.flatMap((scope) => ('kind' in scope ? [] : [scope]))
  const owners = asked.flatMap((scope) => ('kind' in scope ? [scope] : []))
  if (owners.length === 0) return narrowing({ scopes: written, pinned: new Set() })
  return Promise.all(owners.map((owner) => storedScope(stored, uid, owner))).then((found) =>
    narrowing({
      scopes: [...written, ...found],
      pinned: new Set(found.flatMap(({ pinned }) => pinned)),
    }),
  )
}

/** The view without what the narrowing leaves out. The same view if there is no narrowing. */
export function narrowedView(view: CatalogView, by: ListNarrowing | undefined): CatalogView {
  return by ? view.filteredBy(filterOf(by)) : view
}

/** What `narrowing` makes of a view. `unmatched` is the text of a header, or undefined if every item matches a tool. */
export type NarrowedList = {
  readonly view: CatalogView
  readonly revision: string
  readonly unmatched: string | undefined
}

/**
 * As `narrowedView`, and other requests get a turn meanwhile. Finds the items of scopes that match no tool, so that a misspelled one
 * is noticed. A job token may use a stored scope, but not read it, so its items are not shown to the token's holder.
 */
export async function narrowInTurns(
  view: CatalogView,
  by: ListNarrowing,
  { grant }: Principal,
): Promise<NarrowedList> {
  const work = new LongWork()
  const { leavesOut } = filterOf(by)
  const leftOut = new Map<CatalogEntry, LeftOut>()
  const selected: CatalogEntry[] = []
  for (const entry of view.entries()) {
    if (work.isLong) await work.giveTurn()
    const reason = leavesOut(entry)
    if (reason) leftOut.set(entry, reason)
    if (reason !== NOT_SELECTED) selected.push(entry)
  }
  const shown = by.scopes.filter(({ from }) => !grant || !from.startsWith(REF))
  const scopes = shown.map(({ scope }) => scope)
  const items = await unmatchedItems(selected, scopes, work)
  return {
    view: view.filteredBy({ leavesOut: (entry) => leftOut.get(entry) }),
    revision: by.revision,
    unmatched: items.length === 0 ? undefined : headerOf(items),
  }
}

function filterOf({ session, scopes, pinned }: ListNarrowing): ListFilter {
  const outOfScope = scopeFilter(scopes, pinned)
  const selected = session?.names ?? 'all'
  return {
    leavesOut: (entry) => (selected === 'all' || selected.has(entry.name) ? outOfScope(entry) : NOT_SELECTED),
  }
}

const ITEMS_IN_HEADER = 20

function headerOf(items: readonly string[]): string {
  const more = items.length - ITEMS_IN_HEADER
  const texts = items.slice(0, ITEMS_IN_HEADER).map(headerText)
  return [...texts, ...(more > 0 ? [`+${more}`] : [])].join(',')
}

/** Categories and tags may have any characters. Those that a header cannot have are percent-encoded. */
function headerText(item: string): string {
  return item.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x7E]/gu, encodeURIComponent)
}

function narrowing({ session, scopes, pinned }: Omit<ListNarrowing, 'revision'>): ListNarrowing {
  const contents = [
    session?.revision ?? null,
    scopes.map(({ from, scope }) => [from, formatScope(scope)]),
    [...pinned].toSorted(),
  ]
  const revision = createHash('sha256').update(JSON.stringify(contents)).digest('base64url').slice(0, 22)
  return { revision, ...(session && { session }), scopes, pinned }
}

const REF = 'ref:'

function askedScope(text: string): AppliedScope | ScopeOwner {
  const trimmed = text.trim()
  if (trimmed.startsWith(REF)) {
    const [, kind = '', id = ''] = /^([^/]*)\/?(.*)$/s.exec(trimmed.slice(REF.length)) ?? []
    const owner = scopeOwner(kind, id)
    if (owner) return owner
    throw invalidParameter('scope', `names no owner of a scope: ref:KIND/ID, in which ${SCOPE_OWNER_RULE}`)
  }
  const scope = parseScope(text)
  if (!('fault' in scope)) return { from: formatScope(scope), scope }
  const details = [{ reason: 'PARAMETER_INVALID', parameter: 'scope', position: scope.position }] as const
  throw new ToolrackError('PARAMETER_INVALID', `The parameter scope ${scopeFaultText(scope)}`, { details })
}

async function storedScope(
  stored: RouteParts['scopes'],
  uid: string,
  owner: ScopeOwner,
): Promise<AppliedScope & { readonly pinned: readonly string[] }> {
  const kept = await stored.find(uid, owner)
  if (!kept) throw scopeNotFound(owner)
  return { from: `${REF}${owner.kind}/${owner.id}`, scope: kept.scope, pinned: kept.present.pinned }
}

const NOT_SELECTED: LeftOut = {
  reason: 'NOT_SELECTED',
  message: 'The tool is not in the selection of the session.',
}
