import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseConfig } from '../config.ts'
import { harmless } from '../../log.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import { placeOf } from '../../catalog/views/layer-source.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'

/**
 * The program of `npm run validate -- [folder]`. It reads the folder in the same way as the service. The exit code is 0 if every
 * definition of the folder would be served, else 1.
 */
const folder = chosenFolder()
const compilers = new SchemaCompilers()
try {
  const { definitions, skipped } = await new FileLayer(folder, compilers).read()
  for (const item of skipped) fail(`${placeOf(item)}: ${item.message}`)
  const served = `${definitions.length} definitions would be served from ${folder}`
  if (skipped.length === 0) console.log(harmless(served))
  else fail(`${served}; ${skipped.length} faults`)
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  fail(`${folder} cannot be read (${code ?? message})`)
}
await compilers.close()

function fail(line: string): void {
  console.error(harmless(line))
  process.exitCode = 1
}

function chosenFolder(): string {
  try {
    const { positionals } = parseArgs({ allowPositionals: true })
    return resolve(positionals[0] ?? parseConfig().definitionsFolder)
  } catch (error) {
    console.error(harmless((error as Error).message))
    return process.exit(1)
  }
}
