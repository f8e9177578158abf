import { isToolName, ToolrackError } from '@toolrack/contract'
import type { StoredLayer } from '../catalog/layer-source.ts'
import type { DefinitionStore, DefinitionVersion } from './definition-store.ts'

/**
 * The versions of a definition, the newest first. Rejects with TOOL_NOT_FOUND if there are none. No store is asked for a name
 * that no definition can have, because the name may be the path of another place in the store.
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
