import { isToolName, readableName, toolNameFault, type ErrorCode, type Layer } from '@toolrack/contract'
import type { CatalogView } from '../views/catalog-view.ts'
import type { JsonFault } from '../../json/json-fault.ts'

/** One fault of a definition. `pointer` points into the JSON that the author sent. */
export type DefinitionFault = JsonFault & {
  readonly reason: ErrorCode
  /** If the fault is that another definition has the name, the layer of that definition. */
  readonly layer?: Layer
}

/** The faults of an invalid name. If the name resembles that of a tool in the view, the message names this tool. */
export function nameFaults(view: CatalogView, name: string, pointer: string): DefinitionFault[] {
  const message = toolNameFault(name)
  if (message === undefined) return []
  const read = readableName(name)
  const other = isToolName(read) ? view.winner(read) : undefined
  if (!other) return [{ reason: 'NAME_INVALID', pointer, message }]
  const { layer, sealed } = other
  if (sealed) return [sealedBy(layer, pointer)]
  const alike = `the name reads like ${other.name} of the ${layer} layer`
  return [{ reason: 'NAME_INVALID', pointer, message: `${message}; ${alike}`, layer }]
}

/** The fault NAME_SEALED, if a layer below `layer` has a sealed definition of this name. Otherwise undefined. */
export function sealedFault(view: CatalogView, layer: 'user' | 'global', name: string) {
  const sealing = view.below(layer, name).findLast(({ sealed }) => sealed)
  return sealing && sealedBy(sealing.layer, '')
}

function sealedBy(layer: Layer, pointer: string): DefinitionFault {
  const message = `the name is sealed by the ${layer} layer and cannot be defined elsewhere; choose another name`
  return { reason: 'NAME_SEALED', pointer, message, layer }
}
