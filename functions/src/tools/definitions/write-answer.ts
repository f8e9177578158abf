import type { Digest, Layer } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { AdmittedDefinition } from './admit-definition.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { DefinitionWriteResult } from './definition-change.ts'

export type WriteAnswer = DefinitionWriteResult &
  Pick<AdmittedDefinition, 'normalised' | 'unenforced'> & {
    readonly layer: Layer
    readonly shadows: readonly Shadow[]
  }

/** A definition of a lower layer that is now hidden by the written definition. */
export type Shadow = { readonly layer: Layer; readonly digest: Digest }

export type ItemFault = DefinitionFault & { readonly index: number }

export type BulkAnswer = {
  readonly results: readonly WriteAnswer[]
  /** The faults of the definitions that were not written. Only with `onInvalid=skip`. */
  readonly refused?: readonly ItemFault[]
}

export function writeAnswer(
  view: CatalogView,
  layer: Layer,
  { normalised, unenforced }: AdmittedDefinition,
  { name, ...written }: DefinitionWriteResult,
): WriteAnswer {
  return { name, layer, ...written, normalised, unenforced, shadows: shadowsOf(view, layer, name) }
}

export function shadowsOf(view: CatalogView, layer: Layer, name: string): readonly Shadow[] {
  return view.below(layer, name).map(({ layer, digest }) => ({ layer, digest }))
}
