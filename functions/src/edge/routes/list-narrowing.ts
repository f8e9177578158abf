import {
  formatScope,
  inScope,
  parseScope,
  scopeFaultText,
  ToolrackError,
  type Scope,
} from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView, LeftOut, ListFilter } from '../../tools/catalog/catalog-view.ts'
import type { SessionSelection } from '../../tools/sessions/session-selection.ts'
import { invalidParameter, type Query } from '../http/query.ts'
import type { RouteParts } from './route-parts.ts'

/** A scope of a list. `from` is its text as it is shown, or `ref:KIND/ID` of a stored scope. */
export type AppliedScope = { readonly from: string; readonly scope: Scope }

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
  _parts: RouteParts,
  _principal: Principal,
  query: Query,
): ListNarrowing | undefined | Promise<ListNarrowing | undefined> {
  const texts = query.all('scope')
  if (texts.length === 0) return undefined
  if (texts.length > SCOPES_MAX)
    throw invalidParameter('scope', `is given ${texts.length} times; at most ${SCOPES_MAX} are allowed`)
  return narrowing({ scopes: texts.map(writtenScope), pinned: new Set() })
}

/** The view without what the narrowing leaves out. The same view if there is no narrowing. */
export function narrowedView(view: CatalogView, by: ListNarrowing | undefined): CatalogView {
  return by ? view.filteredBy(filterOf(by)) : view
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

function writtenScope(text: string): AppliedScope {
  const scope = parseScope(text)
  if ('fault' in scope) {
    const details = [{ reason: 'PARAMETER_INVALID', parameter: 'scope', position: scope.position }] as const
    throw new ToolrackError('PARAMETER_INVALID', `The parameter scope ${scopeFaultText(scope)}`, { details })
  }
  return { from: formatScope(scope), scope }
}

function filterOf({ session, scopes, pinned }: ListNarrowing): ListFilter {
  const tests = scopes.map(({ from, scope }) => ({ scope, leftOut: outOf(from) }))
  return {
    leavesOut(entry) {
      if (session && session.names !== 'all' && !session.names.has(entry.name)) return NOT_SELECTED
      if (pinned.has(entry.name)) return undefined
      const tool = toolInScope(entry)
      return tests.find(({ scope }) => !inScope(scope, tool))?.leftOut
    },
  }
}

function toolInScope({ name, category, tags, howRun }: CatalogEntry) {
  return { name, category, tags, internal: howRun.by === 'builtin' }
}

const NOT_SELECTED: LeftOut = {
  reason: 'NOT_SELECTED',
  message: 'The tool is not in the selection of the session.',
}

function outOf(scope: string): LeftOut {
  const message = 'The scope leaves the tool out of this list. It can be called.'
  return { reason: 'OUT_OF_SCOPE', message, scope }
}
