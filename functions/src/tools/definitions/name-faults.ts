import type { Layer } from '@toolrack/contract'
import { isToolName, readableName, toolNameFault } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { DefinitionFault } from './definition-fault.ts'

/** Why a name can't be written; a name that a reader takes for another tool's is told whose it resembles. */
export function nameFaults(view: CatalogView, name: string, pointer: string): DefinitionFault[] {
  const fault = toolNameFault(name)
  if (fault === undefined) return []
  const read = readableName(name)
  const twin = isToolName(read) ? view.winner(read) : undefined
  if (!twin) return [{ reason: 'NAME_INVALID', pointer, message: fault }]
  if (twin.sealed)
    return [{ reason: 'NAME_SEALED', pointer, message: sealedMessage(twin.layer), layer: twin.layer }]
  const message = `${fault}; the name reads like ${twin.name} of the ${twin.layer} layer`
  return [{ reason: 'NAME_INVALID', pointer, message, layer: twin.layer }]
}

/** NAME_SEALED when a layer below the written one has sealed the name. */
export function sealedFault(
  view: CatalogView,
  layer: 'user' | 'global',
  name: string,
): DefinitionFault | undefined {
  const below = layer === 'user' ? (['file', 'global'] as const) : (['file'] as const)
  const sealing = below.find((lower) => view.layers[lower].snapshot?.byName.get(name)?.sealed)
  return sealing && { reason: 'NAME_SEALED', pointer: '', message: sealedMessage(sealing), layer: sealing }
}

function sealedMessage(layer: Layer): string {
  return `the name is sealed by the ${layer} layer and can not be defined elsewhere; choose another name`
}
