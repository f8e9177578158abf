import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { FileLayer } from './file-layer.ts'

/** A step of the build: reads and admits the file layer once, so that a cold start only loads the result. */
const folder = fileURLToPath(new URL('../../../workflows/tools/defs', import.meta.url))
const compilers = new SchemaCompilers()
const layer = await new FileLayer(folder, compilers).read()
await compilers.close()
writeFileSync(
  fileURLToPath(new URL('../../../dist/file-layer.json', import.meta.url)),
  `${JSON.stringify(layer)}\n`,
)
for (const { source, pointer, message } of layer.skipped)
  process.stderr.write(`${source}${pointer && `#${pointer}`}: ${message}; skipped\n`)
