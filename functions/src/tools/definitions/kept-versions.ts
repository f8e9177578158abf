import { isToolName, ToolrackError } from '@toolrack/contract'
import type { StoredLayer } from '../catalog/layer-source.ts'
import type { DefinitionStore, DefinitionVersion } from './definition-store.ts'

/**
 * What a definition was, the newest first. Rejects with TOOL_NOT_FOUND where there has never been one; no store is asked for
 * a name that none can have, because it may mean another place there.
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
