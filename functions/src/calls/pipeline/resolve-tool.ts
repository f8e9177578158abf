import {
  dropOmittedArguments,
  isToolName,
  toolFailure,
  toolNameFault,
  ToolrackError,
} from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import { changed, maySee, refusalOf, whyNotCalled } from '../../access/visible.ts'
import { definitionOf, type CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import { outcomeOf, type CallOutcome, type CallRequest, type Requested, type Resolved } from './call.ts'
import type { Next, Step } from './onion.ts'
import type { Principal } from '../../access/principal.ts'

export type ResolveParts = { readonly catalog: Pick<Catalog, 'view'> }

/**
 * Finds the tool that the list shows to this caller under the call's name or alias. Every other call fails. With a job token,
 * every name that the token does not contain is PERMISSION_DENIED, whether the tool exists or not.
 */
export function resolveTool({ catalog }: ResolveParts): Step<Requested, Resolved> {
  return (call, next) => {
    const view = catalog.view(call.principal)
    // A view whose layers were checked a moment ago is not a promise. Waiting for it would take a tenth of a warm call.
    return view instanceof Promise
      ? view.then((read) => resolveIn(read, call, next))
      : resolveIn(view, call, next)
  }
}

function resolveIn(view: CatalogView, call: Requested, next: Next<Resolved>): Promise<CallOutcome> {
  const found = find(view, call)
  if (found instanceof ToolrackError)
    return Promise.resolve(outcomeOf({ ...call, view }, toolFailure(found.code, found.message)))
  const { howRun, limits } = found
  const request = withoutOmitted(call.request, found)
  return next({ ...call, request, view, entry: found, howRun, limits })
}

/** The tool, or the error why there is none for this caller. */
function find(view: CatalogView, { request, principal }: Requested): CatalogEntry | ToolrackError {
  const { name, expectedDigest } = request
  const entry = view.resolve(name)
  if (!entry) return whyNone(view, name, principal)
  // The view shows only such tools, but a call must not depend on that alone.
  const decision = maySee(principal, entry)
  if (!decision.allowed) return refusalOf(decision)
  if (expectedDigest === undefined || expectedDigest === entry.digest) return entry
  const message = `${entry.name} has changed since it was listed; nothing was run. List the tools again.`
  return new ToolrackError('DIGEST_CHANGED', message)
}

function whyNone(view: CatalogView, name: string, principal: Principal): ToolrackError {
  if (!isToolName(name))
    return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${toolNameFault(name)}`)
  const denied = whyNotCalled(principal, name)
  if (denied) return denied
  if (view.hasChanged(name)) return refusalOf(changed(name))
  if (view.lostLayers.length === 0) return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${name}`)
  const lost = `the layer ${view.lostLayers.join(' and ')}, which may define it, could not be read`
  return new ToolrackError('LAYER_UNAVAILABLE', `${name} was not found, and ${lost}; try again.`)
}

/** The request without the arguments that are null because they were omitted (see `nullMeansOmitted`). */
function withoutOmitted(request: CallRequest, entry: CatalogEntry): CallRequest {
  if (!request.nullMeansOmitted || !JSON.stringify(request.arguments).includes('null')) return request
  const { parameters } = definitionOf(entry).function
  return { ...request, arguments: dropOmittedArguments(parameters, request.arguments) }
}
