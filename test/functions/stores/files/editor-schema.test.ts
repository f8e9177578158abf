import { expect, test } from '@jest/globals'
import { Ajv } from 'ajv'
import { readdirSync, readFileSync } from 'node:fs'
import { editorSchemaText } from '../../../../functions/src/stores/files/editor-schema.ts'

const TOOLS = new URL('../../../../functions/workflows/tools/', import.meta.url)
const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, TOOLS), 'utf8'))

test('the editor schema in the tree is the one that the definition schema gives', async () => {
  expect(readFileSync(new URL('tool-definitions.schema.json', TOOLS), 'utf8')).toBe(await editorSchemaText())
})

test('the editor schema accepts every shipped file and names what a wrong one lacks', async () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(await editorSchemaText()) as object)
  const files = readdirSync(new URL('defs/', TOOLS))
  expect(files.length).toBeGreaterThanOrEqual(4)
  for (const file of files)
    expect([file, validate(read(`defs/${file}`)), validate.errors]).toEqual([file, true, null])
  const wrong = {
    family: 'x',
    tools: [{ type: 'function', function: { name: 'a b', parameters: { type: 'string' } }, runer: {} }],
  }
  expect(validate(wrong)).toBe(false)
})
