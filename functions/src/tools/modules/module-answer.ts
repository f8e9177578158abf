import type { Digest, JsonObject, Layer } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { WritableLayer } from '../definitions/definition-writer.ts'
import type { DefinitionWriteResult } from '../definitions/write-result.ts'
import type { ModuleWriteResult } from './module-store.ts'

/** What a write tells its author about one module. */
export type ModuleAnswer = Omit<ModuleWriteResult, 'tools' | 'replaced'> & {
  readonly layer: Layer
  readonly tools: {
    readonly added: readonly string[]
    readonly changed: readonly string[]
    readonly removed: readonly string[]
    readonly unchanged: readonly string[]
  }
  /** The definitions of layers below that the module's now stand in front of. */
  readonly shadows: readonly { readonly name: string; readonly layer: Layer; readonly digest: Digest }[]
  /** What came of each spec; nothing where a module was deleted. */
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
  const below = layer === 'user' ? (['global', 'file'] as const) : (['file'] as const)
  const present = tools.filter((tool) => tool.outcome !== 'deleted')
  const shadows = present.flatMap((tool) =>
    below.flatMap((lower) => {
      const entry = view.layers[lower].snapshot?.byName.get(tool.name)
      return entry ? [{ name: tool.name, layer: lower, digest: entry.digest }] : []
    }),
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
