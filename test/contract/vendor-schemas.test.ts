import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import type { Tool as Anthropic } from '@anthropic-ai/sdk/resources/messages'
import type { FunctionDeclaration, Tool as Gemini } from '@google/genai'
import { expect, test } from '@jest/globals'
import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Tool as Mcp } from '@modelcontextprotocol/sdk/types.js'
import { validateToolName } from '@modelcontextprotocol/sdk/shared/toolNameValidation.js'
import { dialectRules, inDialect } from '@toolrack/contract'
import type { Dialect, DialectTools, JsonObject } from '@toolrack/contract'
import { toStrictJsonSchema } from 'openai/lib/transform'
import type { ChatCompletionTool } from 'openai/resources/chat/completions'
import type { FunctionTool } from 'openai/resources/responses/responses'
import { newAjv } from '../../functions/src/catalog/schemas/schema-draft.ts'
import { bfclDefinitions } from '../support/bfcl-definitions.ts'
import { vectors } from '../support/vectors.ts'

const DEFINITIONS = bfclDefinitions('definitions')

/** What is sent of the 753 in a dialect: all of them, for none is quarantined. */
function sent<D extends Dialect>(dialect: D): DialectTools[D][] {
  const items = DEFINITIONS.flatMap((definition): DialectTools[D][] => {
    const converted = inDialect(definition, dialectRules(dialect))
    return 'item' in converted ? [converted.item] : []
  })
  expect(items).toHaveLength(753)
  return items
}

/** The vendors' own types: this compiles or it does not. */
function asTheVendorsTypeThem() {
  const chat: ChatCompletionTool[] = sent('openai')
  const strict: ChatCompletionTool[] = sent('openai-strict')
  const responses: FunctionTool[] = sent('openai-responses')
  const anthropic: Anthropic[] = sent('anthropic')
  const functionDeclarations: FunctionDeclaration[] = sent('gemini')
  const gemini: Gemini[] = [{ functionDeclarations }]
  const mcp: Mcp[] = sent('mcp')
  return { chat, strict, responses, anthropic, gemini, mcp }
}

const { chat, strict, responses, anthropic, gemini, mcp } = asTheVendorsTypeThem()

function parametersOf(tool: ChatCompletionTool): JsonObject {
  if (tool.type !== 'function') throw new Error('it is no function')
  return tool.function.parameters as JsonObject
}

const keys = (items: readonly object[]) => [...new Set(items.flatMap((item) => Object.keys(item)))].toSorted()

test('each of the 753 has the names that the vendors type, and no other key', () => {
  expect(keys(chat)).toEqual(['function', 'type'])
  expect(keys(strict.map((tool) => (tool.type === 'function' ? tool.function : {})))).toEqual([
    'description',
    'name',
    'parameters',
    'strict',
  ])
  expect(keys(responses)).toEqual(['description', 'name', 'parameters', 'strict', 'type'])
  expect(keys(anthropic)).toEqual(['description', 'input_schema', 'name'])
  expect(keys(gemini[0]?.functionDeclarations ?? [])).toEqual(['description', 'name', 'parametersJsonSchema'])
  expect(new Set(keys(mcp))).toEqual(new Set(['_meta', 'description', 'inputSchema', 'name']))
})

test("each schema that is sent as strict is one that OpenAI's own transform leaves as it is", () => {
  const marked = strict.filter((tool) => tool.type === 'function' && tool.function.strict)
  expect(marked).toHaveLength(748)
  for (const tool of marked) expect(toStrictJsonSchema(parametersOf(tool))).toEqual(parametersOf(tool))
})

test('so is each of the vectors that is sent as strict', () => {
  const marked = vectors<unknown, Record<string, { item?: ChatCompletionTool }>>('dialects')
    .flatMap(({ expected }) => expected['openai-strict']?.item ?? [])
    .filter((tool) => tool.type === 'function' && tool.function.strict)
  expect(marked.length).toBeGreaterThan(5)
  for (const tool of marked) expect(toStrictJsonSchema(parametersOf(tool))).toEqual(parametersOf(tool))
})

test("OpenAI's transform refuses what is sent as non-strict, or would change what it takes", () => {
  const loose = strict.filter((tool) => tool.type === 'function' && !tool.function.strict)
  expect(loose).toHaveLength(5)
  for (const tool of loose) {
    const before = parametersOf(tool)
    const after = attempt(() => toStrictJsonSchema(before))
    expect(after).not.toEqual(before)
  }
})

test("Anthropic's transform for strict tools reads each schema that types every value", () => {
  const refused = anthropic.filter(
    ({ input_schema }) => attempt(() => transformJSONSchema(input_schema)) === undefined,
  )
  expect(refused).toHaveLength(1)
})

test('each schema is valid in the draft that Anthropic and MCP ask for', () => {
  const ajv = newAjv('2020-12')
  const schemas = [...anthropic.map((tool) => tool.input_schema), ...mcp.map((tool) => tool.inputSchema)]
  expect(schemas.filter((schema) => !ajv.validateSchema(schema))).toEqual([])
})

test("MCP's own schema parses the list and leaves nothing out, and its naming rule has no warning", () => {
  expect(ListToolsResultSchema.parse({ tools: mcp })).toEqual({ tools: mcp })
  const warned = mcp.map(({ name }) => validateToolName(name)).filter(({ warnings }) => warnings.length > 0)
  expect(warned).toEqual([])
})

test('no two of a list have one name, which Gemini and OpenAI refuse', () => {
  const names = [chat, responses, anthropic, mcp, gemini[0]?.functionDeclarations ?? []].map(
    (tools) =>
      new Set(tools.map((tool) => ('function' in tool ? tool.function.name : 'name' in tool && tool.name)))
        .size,
  )
  expect(names).toEqual([753, 753, 753, 753, 753])
})

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
