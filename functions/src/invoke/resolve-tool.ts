import { isToolName, LAYERS, toolNameFault, ToolrackError } from '@toolrack/contract'
import { whyNotCalled } from '../access/visible.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { Grant } from '../catalog/grant.ts'
import type { CallRequest } from './call.ts'

/**
 * The tool that a call means: the one that the list shows under that name or alias. Throws the reason why there is none;
 * what a job's token does not name is refused in the same words whether it exists or not.
 */
export function resolveTool(
  view: CatalogView,
  { name, expectedDigest }: CallRequest,
  grant: Grant | undefined,
): CatalogEntry {
  const entry = view.resolve(name)
  if (!entry) throw whyNone(view, name, grant)
  if (expectedDigest !== undefined && expectedDigest !== entry.digest)
    throw new ToolrackError(
      'DIGEST_CHANGED',
      `${entry.name} has changed since it was listed; nothing was run. List the tools again.`,
    )
  return entry
}

function whyNone(view: CatalogView, name: string, grant: Grant | undefined): ToolrackError {
  if (!isToolName(name))
    return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${toolNameFault(name)}`)
  const denied = whyNotCalled({ grant }, name)
  if (denied) return denied
  if (view.hasChanged(name))
    return new ToolrackError(
      'DIGEST_CHANGED',
      `${name} has changed since the token of this job was made; nothing was run.`,
    )
  const lost = LAYERS.filter((layer) => view.layers[layer].status === 'error')
  if (lost.length > 0)
    return new ToolrackError(
      'LAYER_UNAVAILABLE',
      `${name} was not found, and the layer ${lost.join(' and ')}, which may define it, could not be read; try again.`,
    )
  return new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${name}`)
}
