import type { Layer } from '@toolrack/contract'
import type { CatalogView } from '../views/catalog-view.ts'
import type { AdmittedDefinition } from './admit-definition.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { DefinitionWriteResult } from './definition-change.ts'

export type WriteAnswer = ReturnType<typeof writeAnswer>

export type ItemFault = DefinitionFault & { readonly index: number }

export type BulkAnswer = {
  readonly results: readonly WriteAnswer[]
  /** The faults of the definitions that were left out. Present only with `onInvalid=skip`. */
  readonly refused?: readonly ItemFault[]
}

export function writeAnswer(
  view: CatalogView,
  layer: Layer,
  { normalised, unenforced }: AdmittedDefinition,
  { name, ...written }: DefinitionWriteResult,
) {
  return { name, layer, ...written, normalised, unenforced, shadows: shadowsOf(view, layer, name) }
}

/** The definitions of lower layers that the written definition now hides. */
export function shadowsOf(view: CatalogView, layer: Layer, name: string) {
  return view.below(layer, name).map(({ layer, digest }) => ({ layer, digest }))
}
