import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { definitionSchemas } from '../../catalog/definitions/definition-schema.ts'

/** The text of `tool-definitions.schema.json`: the JSON Schema of a definitions file, in draft-07, which most editors support. */
export async function editorSchemaText(): Promise<string> {
  const { editorFileSchema } = await definitionSchemas()
  const schema = z.toJSONSchema(editorFileSchema, { io: 'input', target: 'draft-07', unrepresentable: 'any' })
  return `${JSON.stringify({ title: 'Toolrack tool definitions', ...schema }, null, 2)}\n`
}

/** Runs as `npm run editor-schema`, in a checkout, after the shape of a definition has changed. */
if (import.meta.main) {
  const file = new URL('../../../workflows/tools/tool-definitions.schema.json', import.meta.url)
  writeFileSync(file, await editorSchemaText())
}
