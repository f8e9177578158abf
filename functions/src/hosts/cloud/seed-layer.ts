import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import type { DefinitionStore } from '../../tools/definitions/definition-store.ts'
import { BULK_MAX } from '../../tools/definitions/definition-writer.ts'
import { LAYER_LIMITS } from '../../tools/records/layer-totals.ts'
import type { DefinitionWriteResult } from '../../tools/definitions/write-result.ts'

/** Writes definitions into the global layer as upserts, as many at a time as one request may bring; those are all written or none. */
export async function seedLayer(
  definitions: readonly StoredDefinition[],
  store: DefinitionStore,
): Promise<readonly DefinitionWriteResult[]> {
  const context = { by: 'seed', at: new Date(), limits: LAYER_LIMITS.global }
  const outcomes: DefinitionWriteResult[] = []
  for (let from = 0; from < definitions.length; from += BULK_MAX) {
    const puts = definitions
      .slice(from, from + BULK_MAX)
      .map(({ name, text, digest }) => ({ kind: 'put', name, text, digest, onConflict: 'upsert' }) as const)
    outcomes.push(...(await store.write({ kind: 'global' }, puts, context)))
  }
  return outcomes
}
