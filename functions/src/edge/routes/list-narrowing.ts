import { formatScope, parseScope, scopeFaultText, ToolrackError } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { CatalogView, LeftOut } from '../../tools/catalog/catalog-view.ts'
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
  if (!by) return view
  const outOfScope = scopeFilter(by.scopes, by.pinned)
  const selected = selection(by)
  return view.filteredBy({
    leavesOut: (entry) => (selected === 'all' || selected.has(entry.name) ? outOfScope(entry) : NOT_SELECTED),
  })
}

/**
 * The items of the scopes that match no tool, so that a misspelled one is noticed. A job token may use a stored scope, but not
 * read it, so its items are not shown to the token's holder. The text of a header: undefined if there are none.
 */
export function unmatchedIn(view: CatalogView, by: ListNarrowing, { grant }: Principal): string | undefined {
  const selected = selection(by)
  const whole =
    selected === 'all'
      ? view
      : view.filteredBy({ leavesOut: ({ name }) => (selected.has(name) ? undefined : NOT_SELECTED) })
  const shown = by.scopes.filter(({ from }) => !grant || !from.startsWith(REF))
  const items = unmatchedItems(
    whole,
    shown.map(({ scope }) => scope),
  )
  const more = items.length - ITEMS_IN_HEADER
  const texts = items.slice(0, ITEMS_IN_HEADER).map(headerText)
  return items.length === 0 ? undefined : [...texts, ...(more > 0 ? [`+${more}`] : [])].join(',')
}

const ITEMS_IN_HEADER = 20

/** Categories and tags may have any characters. Those that a header cannot have are percent-encoded. */
function headerText(item: string): string {
  return item.toWellFormed().replaceAll(/[^\x21-\x7E]/gu, encodeURIComponent)
}

function selection({ session }: ListNarrowing): 'all' | ReadonlySet<string> {
  return session?.names ?? 'all'
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
