import type { StoredDefinition, StoredLayer } from '../../catalog/views/layer-source.ts'
import type { DefinitionWriteResult } from '../../catalog/definitions/definition-change.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { BULK_MAX } from '../../catalog/definitions/definition-writer.ts'
import { LAYER_LIMITS } from '../../catalog/definitions/layer-totals.ts'

/**
 * Upserts definitions into a layer. The definitions are written in groups, each as large as one request. A group is written
 * completely or not at all.
 */
export async function upsertDefinitions(
  store: DefinitionStore,
  layer: StoredLayer,
  definitions: readonly StoredDefinition[],
  by: string,
): Promise<readonly DefinitionWriteResult[]> {
  const context = { by, at: new Date(), limits: LAYER_LIMITS[layer.kind] }
  const outcomes: DefinitionWriteResult[] = []
  for (let from = 0; from < definitions.length; from += BULK_MAX) {
    const puts = definitions
      .slice(from, from + BULK_MAX)
      .map(({ name, text, digest }) => ({ kind: 'put', name, text, digest, onConflict: 'upsert' }) as const)
    outcomes.push(...(await store.write(layer, puts, context)))
  }
  return outcomes
}

/** A text that names the project of the environment, and its emulator if there is one. */
export function database(
  { GOOGLE_CLOUD_PROJECT, FIRESTORE_EMULATOR_HOST }: NodeJS.ProcessEnv = process.env,
): string {
  const project = GOOGLE_CLOUD_PROJECT ?? ''
  return FIRESTORE_EMULATOR_HOST ? `${project} on the emulator at ${FIRESTORE_EMULATOR_HOST}` : project
}
