import { ToolrackError } from '@toolrack/contract'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { harmless } from '../../log.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import { placeOf } from '../../catalog/views/layer-source.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { database, upsertDefinitions } from './upsert-definitions.ts'

/**
 * The program of `npm run seed -- <folder>`. The exit code is 0 if the folder's definitions are in the global layer, else 1. The
 * process exits at once, because unanswered calls would keep it alive for half a minute.
 */
const { positionals } = parseArgs({ allowPositionals: true })
const compilers = new SchemaCompilers()
const store = new FirestoreDefinitionStore({ compilers, connection: firestoreConnection() })
// If credentials are missing, the Firestore client throws an error that no caller can catch.
process.on('unhandledRejection', (error) => process.exit(notSeeded(error as Error)))
const code = await seed(resolve(positionals[0] ?? ''))
// The empty write waits until the output is written. `exit` alone can cut off output that a pipe has not yet taken.
process.stdout.write('', () => process.exit(code))

async function seed(folder: string): Promise<number> {
  try {
    const { definitions, skipped } = await new FileLayer(folder, compilers).read()
    for (const item of skipped) console.error(harmless(`${placeOf(item)}: ${item.message}`))
    if (skipped.length > 0) return failed(`Nothing was written: correct the ${skipped.length} faults first.`)
    const outcomes = await upsertDefinitions(store, { kind: 'global' }, definitions, 'seed')
    const changed = outcomes.filter(({ outcome }) => outcome !== 'unchanged')
    for (const { name, outcome } of changed) console.log(`${outcome} ${name}`)
    const counts = `${changed.length} of ${outcomes.length} definitions`
    console.log(`${counts} changed in the global layer of ${database()}.`)
    return 0
  } catch (error) {
    const cause = error instanceof ToolrackError ? (error.cause as Error | undefined) : undefined
    return notSeeded(cause ?? (error as Error))
  }
}

function notSeeded(error: Error): number {
  return failed(`The global layer of ${database()} could not be seeded: ${error.message}`)
}

function failed(sentence: string): number {
  console.error(harmless(sentence))
  return 1
}
