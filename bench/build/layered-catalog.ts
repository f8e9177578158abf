import { completeParameters, definitionDigest, LAYERS } from '@toolrack/contract'
import type { Layer, ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { CatalogView } from '../../functions/src/catalog/views/catalog-view.ts'
import { LayerSnapshot } from '../../functions/src/catalog/views/layer-snapshot.ts'
import { listAnswer } from '../../functions/src/catalog/views/list-answer.ts'
import { parseListQuery } from '../../functions/src/features/list/list-parameters.ts'

/** Builds the list of these names. */
export type Build = (names: readonly string[]) => Buffer

/** One catalog in three layers, and the two ways to build a list from it. */
export type LayeredCatalog = {
  /** Parses the query of a request. The returned function builds the answer. */
  readonly prepare: (names: readonly string[]) => () => Buffer
  readonly mergeAndFilter: Build
}

/** One tenth of the definitions is the user's, one tenth comes from files, and the others are global. */
export function layeredCatalog(definitions: readonly ToolDefinition[]): LayeredCatalog {
  const byLayer: Readonly<Record<Layer, readonly ToolDefinition[]>> = {
    user: definitions.filter((_, index) => index % 10 === 0),
    global: definitions.filter((_, index) => index % 10 > 1),
    file: definitions.filter((_, index) => index % 10 === 1),
  }
  const view = new CatalogView({
    user: state('user', byLayer.user),
    global: state('global', byLayer.global),
    file: state('file', byLayer.file),
  })
  const maps = LAYERS.toReversed().map(
    (layer) => new Map(byLayer[layer].map((definition) => [definition.function.name, definition])),
  )
  return {
    prepare(names) {
      const query = parseListQuery(`names=${names.join(',')}`, { envelope: 'array' })
      return () => atOnce(listAnswer(view, query, { defaultWorkflow: 'bench' })).body
    },
    mergeAndFilter: (names) => mergeAndFilter(maps, names),
  }
}

/** Throws unless both ways to build the list give the same tools, in any order. Only Toolrack sorts the tools. */
export function checkSame(catalog: LayeredCatalog, names: readonly string[]): void {
  assert.deepEqual(toolsOf(catalog.prepare(names)()), toolsOf(catalog.mergeAndFilter(names)))
}

function toolsOf(body: Buffer): string[] {
  return (JSON.parse(body.toString()) as unknown[]).map((tool) => JSON.stringify(tool)).toSorted()
}

function state(layer: Layer, definitions: readonly ToolDefinition[]) {
  const stored = definitions.map((definition) => ({
    name: definition.function.name,
    text: JSON.stringify(definition),
    digest: definitionDigest(definition),
    revision: '1',
  }))
  const read = { revision: '1', whole: true, definitions: stored, deleted: [], skipped: [] }
  return { status: 'fresh', snapshot: atOnce(LayerSnapshot.after(layer, undefined, read)) } as const
}

/** Builds a list of names in the common way: merges all layers, keeps the wanted names, normalizes, and stringifies. */
function mergeAndFilter(
  layers: readonly ReadonlyMap<string, ToolDefinition>[],
  names: readonly string[],
): Buffer {
  const merged = new Map<string, ToolDefinition>()
  for (const layer of layers) {
    for (const [name, definition] of layer) merged.set(name, definition)
  }
  const wanted = new Set(names)
  const tools = [...merged.values()].filter((definition) => wanted.has(definition.function.name))
  return Buffer.from(JSON.stringify(tools.map(normalised)))
}

function normalised({ function: { name, description, parameters } }: ToolDefinition) {
  return { type: 'function', function: { name, description, parameters: completeParameters(parameters) } }
}
