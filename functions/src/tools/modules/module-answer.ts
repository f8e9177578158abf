import type { JsonObject, Layer } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { WritableLayer } from '../definitions/definition-writer.ts'
import { shadowsOf, type Shadow } from '../definitions/write-answer.ts'
import type { DefinitionWriteResult } from '../definitions/write-result.ts'
import type { ModuleWriteResult } from './module-store.ts'

/** The answer to a write of one module. */
export type ModuleAnswer = Omit<ModuleWriteResult, 'tools' | 'replaced'> & {
  readonly layer: Layer
  readonly tools: {
    readonly added: readonly string[]
    readonly changed: readonly string[]
    readonly removed: readonly string[]
    readonly unchanged: readonly string[]
  }
  /** The definitions of lower layers that the module's definitions now hide. */
  readonly shadows: readonly (Shadow & { readonly name: string })[]
  /** The result for each spec; missing if the module was deleted. */
  readonly report?: JsonObject
}

export function moduleAnswer(
  { name, outcome, sha256, revision, tools }: ModuleWriteResult,
  layer: WritableLayer,
  view: CatalogView,
  report?: JsonObject,
): ModuleAnswer {
  const named = (wanted: DefinitionWriteResult['outcome']): readonly string[] =>
    tools.filter((tool) => tool.outcome === wanted).map((tool) => tool.name)
  const present = tools.filter((tool) => tool.outcome !== 'deleted')
  const shadows = present.flatMap(({ name }) =>
    shadowsOf(view, layer, name).map((shadow) => ({ name, ...shadow })),
  )
  return {
    name,
    outcome,
    sha256,
    revision,
    layer,
    tools: {
      added: named('created'),
      changed: named('updated'),
      removed: named('deleted'),
      unchanged: named('unchanged'),
    },
    shadows,
    ...(report && { report }),
  }
}
