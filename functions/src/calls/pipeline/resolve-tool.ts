import type { ToolDefinition, ToolLimits } from '@toolrack/contract'
import { isToolName, toolFailure, toolNameFault, ToolrackError, withoutNulls } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import { changed, maySee, refusalOf, whyNotCalled } from '../../access/visible.ts'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { Grant } from '../../access/principal.ts'
import { howRun as howRunOf } from '../../tools/catalog/how-run.ts'
import type { HowRun } from '../../tools/catalog/how-run.ts'
import type { CallRequest, Outcome, Requested, Resolved } from './call.ts'
import { outcomeOf } from './call.ts'
import type { Next, Step } from './onion.ts'

export type ResolveParts = { readonly catalog: Pick<Catalog, 'view'> }

/**
 * Finds the tool that a call means: the one that the list shows this caller under that name or alias. Refuses every other call.
 * To a job token every name that it does not hold is PERMISSION_DENIED, whether there is such a tool or not.
 */
export function resolveTool({ catalog }: ResolveParts): Step<Requested, Resolved> {
  const readOnce = definitionReader()

  function resolveIn(view: CatalogView, call: Requested, next: Next<Resolved>): Promise<Outcome> {
    const found = find(view, call)
    if (found instanceof ToolrackError)
      return Promise.resolve(outcomeOf({ ...call, view }, toolFailure(found.code, found.message)))
    const { howRun, limits } = readOnce(found)
    const request = withLeftOut(call.request, found)
    return next({ ...call, request, view, entry: found, howRun, limits })
  }
  return (call, next) => {
    const view = catalog.view(call.principal)
    // The view is at hand when its layers were checked a moment ago, and waiting for nothing costs a warm call a tenth.
    return view instanceof Promise
      ? view.then((read) => resolveIn(read, call, next))
      : resolveIn(view, call, next)
  }
}

/** The tool, or why there is none for this caller. */
function find(view: CatalogView, { request, principal }: Requested): CatalogEntry | ToolrackError {
  const { name, expectedDigest } = request
  const entry = view.resolve(name)
  if (!entry) return whyNone(view, name, principal.grant)
  // The view shows nothing else. A call must not depend on that alone.
  const decision = maySee(principal, entry)
  if (!decision.allowed) return refusalOf(decision)
  if (expectedDigest === undefined || expectedDigest === entry.digest) return entry
  return new ToolrackError(
    'DIGEST_CHANGED',
    `${entry.name} has changed since it was listed; nothing was run. List the tools again.`,
  )
}

function whyNone(view: CatalogView, name: string, grant: Grant | undefined): ToolrackError {
  if (!isToolName(name))
    return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${toolNameFault(name)}`)
  const denied = whyNotCalled({ grant }, name)
  if (denied) return denied
  if (view.hasChanged(name)) return refusalOf(changed(name))
  const lost = view.lostLayers
  if (lost.length > 0)
    return new ToolrackError(
      'LAYER_UNAVAILABLE',
      `${name} was not found, and the layer ${lost.join(' and ')}, which may define it, could not be read; try again.`,
    )
  return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${name}`)
}

type Reading = { readonly howRun: HowRun; readonly limits: ToolLimits }

/** Reads from an entry's text how it is run and within what limits, once for each entry. */
function definitionReader(): (entry: CatalogEntry) => Reading {
  const readings = new WeakMap<CatalogEntry, Reading>()
  return (entry) => {
    const known = readings.get(entry)
    if (known) return known
    const { runner, limits = {} } = JSON.parse(entry.stored.text) as ToolDefinition
    const reading = { howRun: howRunOf(runner), limits }
    readings.set(entry, reading)
    return reading
  }
}

/** The request without the arguments that null leaves out (see `nullLeavesOut`). */
function withLeftOut(request: CallRequest, { stored }: CatalogEntry): CallRequest {
  if (!request.nullLeavesOut || !JSON.stringify(request.arguments).includes('null')) return request
  const { parameters } = (JSON.parse(stored.text) as ToolDefinition).function
  return { ...request, arguments: withoutNulls(parameters, request.arguments) }
}
