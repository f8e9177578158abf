import { z } from 'zod'
import { definitionSchemas } from '../../tools/definitions/definition-schema.ts'

/** The JSON Schema (draft-07, what editors know best) of a definitions file, as the text of `tool-definitions.schema.json`. */
export async function editorSchemaText(): Promise<string> {
  const { editorFileSchema } = await definitionSchemas()
  const schema = z.toJSONSchema(editorFileSchema, { io: 'input', target: 'draft-07', unrepresentable: 'any' })
  return `${JSON.stringify({ title: 'Toolrack tool definitions', ...schema }, null, 2)}\n`
}
