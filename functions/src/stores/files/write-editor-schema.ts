import { writeFileSync } from 'node:fs'
import { editorSchemaText } from './editor-schema.ts'

/** `npm run editor-schema`, for use in a checkout after the shape of a definition has changed. */
writeFileSync(
  new URL('../../../workflows/tools/tool-definitions.schema.json', import.meta.url),
  await editorSchemaText(),
)
