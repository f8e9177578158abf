import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { placeOf } from '../../catalog/views/layer-source.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { FileLayer } from './file-layer.ts'

/**
 * This program is a part of the build. It reads and admits the file layer once, so that a cold start only has to load the result.
 */
const functions = join(import.meta.dirname, '../../..')
const compilers = new SchemaCompilers()
const tools = join(functions, 'workflows/tools')
const layer = await new FileLayer(join(tools, 'defs'), compilers, { ownFolder: join(tools, 'own') }).read()
await compilers.close()
writeFileSync(join(functions, 'dist/file-layer.json'), `${JSON.stringify(layer)}\n`)
for (const item of layer.skipped) process.stderr.write(`Not served: ${placeOf(item)}: ${item.message}\n`)
