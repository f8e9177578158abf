import { ToolrackError } from '@toolrack/contract'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { FileLayer } from '../../stores/files/file-layer.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import type { StoredDefinition } from '../../tools/catalog/layer-source.ts'
import { BULK_MAX } from '../../tools/definitions/definition-writer.ts'
import { LAYER_LIMITS } from '../../tools/records/layer-totals.ts'
import type { DefinitionWriteResult } from '../../tools/definitions/definition-change.ts'
import { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'

/**
 * `npm run seed -- <folder>`: exit code 0 if the folder's definitions are in the global layer, else 1. The process exits
 * at once, because calls without an answer would keep it alive for half a minute.
 */
const { positionals } = parseArgs({ allowPositionals: true })
const compilers = new SchemaCompilers()
const store = new FirestoreDefinitionStore({ compilers, connection: firestoreConnection() })
// For missing credentials, the Firestore client throws an error that no caller can catch.
process.on('unhandledRejection', (error) => process.exit(notSeeded(error as Error)))
process.exit(await seed(resolve(positionals[0] ?? '')))

async function seed(folder: string): Promise<number> {
  try {
    const { definitions, skipped } = await new FileLayer(folder, compilers).read()
    for (const { source, pointer, message } of skipped)
      console.error(`${source}${pointer && `#${pointer}`}: ${message}`)
    if (skipped.length > 0) return failed(`Nothing was written: correct the ${skipped.length} faults first.`)
    const outcomes = await seedLayer(definitions)
    const changed = outcomes.filter(({ outcome }) => outcome !== 'unchanged')
    for (const { name, outcome } of changed) console.log(`${outcome} ${name}`)
    const counts = `${changed.length} of ${outcomes.length} definitions`
    console.log(`${counts} changed in the global layer of ${target()}.`)
    return 0
  } catch (error) {
    const cause = error instanceof ToolrackError ? (error.cause as Error | undefined) : undefined
    return notSeeded(cause ?? (error as Error))
  }
}

/** Upserts definitions into the global layer in groups as large as one request. A group is written completely or not at all. */
async function seedLayer(
  definitions: readonly StoredDefinition[],
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

function notSeeded(error: Error): number {
  return failed(`The global layer of ${target()} could not be seeded: ${error.message}`)
}

function target(): string {
  const { GOOGLE_CLOUD_PROJECT: project = '', FIRESTORE_EMULATOR_HOST: host } = process.env
  return host ? `${project} on the emulator at ${host}` : project
}

function failed(sentence: string): number {
  console.error(sentence)
  return 1
}
