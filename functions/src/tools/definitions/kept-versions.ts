import { isToolName, ToolrackError } from '@toolrack/contract'
import type { StoredLayer } from '../catalog/layer-source.ts'
import type { DefinitionStore, DefinitionVersion } from './definition-store.ts'

/**
 * The versions of a definition, the newest first. Rejects with TOOL_NOT_FOUND if there are none. The store is not
 * asked about an invalid name, because such a name could be a path to other data in the store.
 */
export async function keptVersions(
  store: DefinitionStore,
  layer: StoredLayer,
  name: string,
): Promise<readonly DefinitionVersion[]> {
  const versions = isToolName(name) ? await store.versions(layer, name) : []
  if (versions.length === 0) throw new ToolrackError('TOOL_NOT_FOUND')
  return versions
}
