import {
  dropOmittedArguments,
  isToolName,
  plainAlias,
  toolFailure,
  toolNameFault,
  ToolrackError,
  type ToolResult,
} from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { changed, maySee, refusalOf, whyNotCalled } from '../../access/visible.ts'
import { definitionOf, type CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import { GrantsPending, pendingRefusal } from '../../catalog/views/why-pending.ts'
import { whyNotInSession } from '../../catalog/views/why-not-in-session.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { outcomeOf, type CallOutcome, type CallRequest, type Requested, type Resolved } from '../call.ts'
import type { Next, Step } from '../onion.ts'
import { outcomeOfRefusal } from '../refused-call.ts'

export type ResolveParts = {
  readonly catalog: ListedCatalog
  /** Finds which tools a user's session has selected. Rejects with SESSION_NOT_FOUND. Undefined where no sessions are kept. */
  readonly sessions?:
    | {
        readonly selectionOf: (uid: string, id: string) => SessionSelection | Promise<SessionSelection>
      }
    | undefined
}

/**
 * Finds the tool by the name or alias under which the list shows it to this caller. If the name is unknown, the call fails. With
 * a job token, every name that the token does not contain is PERMISSION_DENIED, whether the tool exists or not. With a session,
 * every tool that is not in its selection is NOT_SELECTED. A tool that waits for consent is GRANTS_PENDING.
 */
export function resolveTool({ catalog, sessions }: ResolveParts): Step<Requested, Resolved> {
  return async (call, next) => {
    const { principal, sessionId } = call
    if (sessionId === undefined) return resolveIn(await catalog.view(principal), call, next)
    if (!sessions) throw new ToolrackError('SESSION_NOT_FOUND')
    const session = await sessions.selectionOf(principal.uid, sessionId)
    return resolveIn(await catalog.view(principal, session), { ...call, session }, next)
  }
}

/** A call with its session, if it names one. */
type InSession = Requested & Pick<Resolved, 'session'>

async function resolveIn(view: CatalogView, call: InSession, next: Next<Resolved>): Promise<CallOutcome> {
  const found = find(view, call)
  if (found instanceof GrantsPending) return outcomeOfRefusal({ ...call, view }, found)
  if (found instanceof ToolrackError) return outcomeOf({ ...call, view }, withSuggestion(view, call, found))
  const { howRun, limits } = found
  const request = withoutOmitted(call.request, found)
  return next({ ...call, request, view, entry: found, howRun, limits })
}

/** The tool, or the error if there is none for this caller. */
function find(view: CatalogView, { request, principal, session }: InSession): CatalogEntry | ToolrackError {
  const { name, expectedDigest } = request
  // A tool that rules hide is found here too. A later step refuses it and names the rule.
  const entry = view.meaning(name)
  if (!entry) return whyNone(view, name, principal)
  // The view contains only tools that the caller may see. A second check protects calls from a mistake in the view.
  const decision = maySee(principal, entry)
  if (!decision.allowed) return refusalOf(decision)
  const left = session && whyNotInSession(session, entry)
  if (left) return new ToolrackError(left.reason, left.message)
  const pending = pendingRefusal(entry)
  if (pending) return pending
  if (expectedDigest === undefined || expectedDigest === entry.digest) return entry
  const message = `${entry.name} has changed since it was listed; nothing was run. List the tools again.`
  return new ToolrackError('DIGEST_CHANGED', message)
}

function whyNone(view: CatalogView, name: string, principal: Principal): ToolrackError {
  if (!isToolName(name))
    return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${toolNameFault(name)}`)
  const denied = whyNotCalled(principal, name)
  if (denied) return denied
  if (view.lostLayers.length > 0) {
    // This check comes before `hasChanged`, because the lost layer may have the definition that a job token names.
    const lost = `the layer ${view.lostLayers.join(' and ')}, which may define it, could not be read`
    return new ToolrackError('LAYER_UNAVAILABLE', `${name} was not found, and ${lost}; try again.`)
  }
  if (view.hasChanged(name)) return refusalOf(changed(name))
  return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${name}`)
}

/**
 * The failure for an unknown name. Its text for the model also has the name that was probably meant, if the caller may see it.
 */
function withSuggestion(
  view: CatalogView,
  { request: { name }, principal, session }: InSession,
  { code, message }: ToolrackError,
): ToolResult {
  const failure = toolFailure(code, message)
  if (code !== 'TOOL_NOT_FOUND' && code !== 'PERMISSION_DENIED') return failure
  const meant = nearMiss(name, namesFor(principal, view, session))
  if (meant === undefined) return failure
  // A model that was given aliases can only call an alias.
  const known = name.includes('__') ? (plainAlias(meant) ?? meant) : meant
  return { ...failure, textResultForLlm: `${message.replace(/\.$/, '')}. Did you mean '${known}'?` }
}

/** The names that `find` would accept from the principal. */
function* namesFor(
  principal: Principal,
  view: CatalogView,
  session: SessionSelection | undefined,
): Generator<string> {
  for (const entry of view.entries())
    if (maySee(principal, entry).allowed && !(session && whyNotInSession(session, entry))) yield entry.name
}

/** The request without the arguments whose null means "omitted" (see `nullMeansOmitted`). */
function withoutOmitted(request: CallRequest, entry: CatalogEntry): CallRequest {
  if (!request.nullMeansOmitted || !JSON.stringify(request.arguments).includes('null')) return request
  const { parameters } = definitionOf(entry).function
  return { ...request, arguments: dropOmittedArguments(parameters, request.arguments) }
}
