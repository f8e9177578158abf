import { ERROR_CODES, ToolrackError } from '@toolrack/contract'
import { parseArgs } from 'node:util'
import { harmless } from '../../log.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import {
  originalLayers,
  readOriginals,
  type OriginalLayer,
} from '../../stores/firestore/original-documents.ts'
import { BULK_MAX } from '../../catalog/definitions/definition-writer.ts'
import { placeOf } from '../../catalog/views/layer-source.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { database, upsertDefinitions } from './upsert-definitions.ts'

/**
 * The program of `npm run import -- --from-firestore`. The exit code is 0 if each document of the original service is a
 * definition now, else 1. The process exits at once, because unanswered calls would keep it alive for half a minute.
 */
const { 'dry-run': isDryRun = false } = parseArgs({ options: { 'dry-run': { type: 'boolean' } } }).values
const compilers = new SchemaCompilers()
const connection = firestoreConnection()
const store = new FirestoreDefinitionStore({ compilers, connection })
// If credentials are missing, the Firestore client throws an error that no caller can catch.
process.on('unhandledRejection', (error) => process.exit(notImported(error as Error)))
const code = await importAll()
// The empty write waits until the output is written. `exit` alone can cut off output that a pipe has not yet taken.
process.stdout.write('', () => process.exit(code))

async function importAll(): Promise<number> {
  const counts = { written: 0, unchanged: 0, kept: 0, refused: 0 }
  try {
    for await (const original of originalLayers(await connection.client()))
      for (const [what, count] of Object.entries(await importLayer(original)))
        counts[what as keyof typeof counts] += count
  } catch (error) {
    const cause = error instanceof ToolrackError ? (error.cause as Error | undefined) : undefined
    return notImported(cause ?? (error as Error))
  }
  const { written, unchanged, kept, refused } = counts
  const verb = isDryRun ? 'to write' : 'written'
  console.log(
    `In ${database()}: ${written} ${verb}, ${unchanged} unchanged, ${kept} left as they are, ${refused} not imported.`,
  )
  return refused > 0 ? 1 : 0
}

/** Writes the documents of one layer. If the layer refuses them, the import of the other layers goes on. */
async function importLayer(original: OriginalLayer) {
  const { layer } = original
  const { definitions, unchanged, kept, skipped } = await readOriginals(original, compilers)
  const where = layer.kind === 'global' ? 'the global layer' : `the layer of the user ${layer.uid}`
  for (const item of skipped) console.error(harmless(`${placeOf(item)}: ${item.message}`))
  for (const { name, source } of kept)
    console.log(harmless(`left ${name} of ${where} as it is: it differs from ${source}`))
  const refused = new Set(skipped.map(({ source }) => source)).size
  let written = 0
  try {
    while (written < definitions.length) {
      const group = definitions.slice(written, written + BULK_MAX)
      if (!isDryRun) await upsertDefinitions(store, layer, group, 'import')
      for (const { name, source } of group)
        console.log(harmless(`${isDryRun ? 'would write' : 'wrote'} ${name} into ${where}, from ${source}`))
      written += group.length
    }
  } catch (error) {
    if (!(error instanceof ToolrackError) || ERROR_CODES[error.code].retry) throw error
    const sources = definitions.slice(written).map(({ source }) => source)
    console.error(harmless(`${sources.join(', ')} could not be written into ${where}: ${error.message}`))
  }
  const lost = definitions.length - written
  return { written, unchanged: unchanged.length, kept: kept.length, refused: refused + lost }
}

function notImported(error: Error): number {
  console.error(harmless(`The documents of ${database()} could not be imported: ${error.message}`))
  return 1
}
