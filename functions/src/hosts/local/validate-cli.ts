import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseConfig } from '../config.ts'
import { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { validateFolder } from '../../stores/files/validate-folder.ts'

/** `npm run validate -- [folder]`: exit code 0 if every definition of the folder would be served, else 1. */
const folder = chosenFolder()
const compilers = new SchemaCompilers()
const { lines, isValid } = await validateFolder(folder, compilers)
await compilers.close()
for (const line of lines) (isValid ? console.log : console.error)(line)
process.exitCode = isValid ? 0 : 1

function chosenFolder(): string {
  try {
    const { positionals } = parseArgs({ allowPositionals: true })
    return resolve(positionals[0] ?? parseConfig().definitionsFolder)
  } catch (error) {
    console.error((error as Error).message)
    return process.exit(1)
  }
}
