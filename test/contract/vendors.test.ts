import type { Tool as AnthropicTool, ToolUnion } from '@anthropic-ai/sdk/resources/messages'
import { expect, test } from '@jest/globals'
import {
  CALL_FORMATS,
  dialectRules,
  DIALECTS,
  findCalls,
  inDialect,
  nameIn,
  readCalls,
} from '@toolrack/contract'
import type { CallFormat, DialectRules, JsonObject, ToolDefinition } from '@toolrack/contract'
import type { Tool as ResponsesTool } from 'openai/resources/responses/responses'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { dialectAnswer } from '../../functions/src/catalog/views/list-answer.ts'
import { DialectFragments } from '../../functions/src/catalog/views/dialect-fragments.ts'
import { explainDialect } from '../../functions/src/catalog/views/explain-dialects.ts'
import { ByName } from '../../packages/client/src/by-name.ts'
import { toolsInDialect } from '../../packages/client/src/local-list.ts'
import { catalogView } from '../support/catalog-view.ts'
import { tool } from '../support/definition-changes.ts'
import { ALL } from '../support/list-query.ts'
import { readSource } from '../support/source-tree.ts'

/** A vendor that does not exist. It takes every name, wants all tools in one, and wants closed objects. */
const acmeDialect: DialectRules<JsonObject> = {
  name: 'acme',
  usesAliases: false,
  allowsItems: false,
  declarationsKey: 'skills',
  parameters: (written) => ({ ...written, additionalProperties: false }),
  tool: ({ name, parameters }) => ({ skill: name, input: parameters }),
}

const acmeCalls: CallFormat<'acme'> = {
  name: 'acme',
  itemsKey: 'steps',
  isCall: ({ skill }) => typeof skill === 'string',
  isOther: ({ thought }) => thought !== undefined,
  id: ({ step }) => step,
  read: ({ skill, input = {} }) =>
    typeof skill === 'string' ? { name: skill, arguments: { value: input } } : 'must have a skill',
  nullMeansOmitted: true,
  messages: (answered) =>
    answered.map(({ call, result }) => ({ did: call.name, said: result.textResultForLlm })),
}

const definitions: readonly ToolDefinition[] = [tool('a:b'), tool('a__b')]
const view = catalogView({ file: definitions })
const [first] = definitions as readonly [ToolDefinition]
const skills = definitions.map((definition) => ({
  skill: definition.function.name,
  input: { type: 'object', additionalProperties: false, properties: {}, required: [] },
}))

test('a vendor that is made up for this test is listed by the service and by the client', async () => {
  const { body, quarantined } = atOnce(
    dialectAnswer(view, ALL, acmeDialect, { defaultWorkflow: 'flow' }, new DialectFragments()),
  )
  expect([JSON.parse(body.toString()), quarantined]).toEqual([[{ skills }], undefined])
  const byName = new ByName(definitions.map((definition) => [definition.function.name, definition]))
  expect((await toolsInDialect(definitions, acmeDialect, byName)).tools).toEqual([{ skills }])
})

test('a vendor that is made up for this test is explained, and converted by its own rules', () => {
  expect(nameIn(acmeDialect, 'a:b')).toBe('a:b')
  expect(inDialect(first, acmeDialect)).toMatchObject({ conversion: 'rewritten', item: { skill: 'a:b' } })
  expect(explainDialect(view, first, acmeDialect)).toEqual({
    alias: 'a:b',
    conversion: 'rewritten',
    obstacle: null,
  })
})

test('calls of a vendor that is made up for this test are found and read, and answered in its shape', () => {
  const answer = { steps: [{ thought: 'Hm.' }, { step: 's1', skill: 'a:b', input: { x: null } }] }
  expect(findCalls(answer, [acmeCalls])).toMatchObject({ format: { name: 'acme' }, items: [{ index: 1 }] })
  const read = readCalls(answer, [acmeCalls])
  if ('fault' in read) throw new Error(read.fault)
  expect(read.calls).toEqual([
    {
      index: 1,
      id: 's1',
      name: 'a:b',
      arguments: { value: { x: null } },
      item: answer.steps[1],
      nullMeansOmitted: true,
    },
  ])
  const result = { resultType: 'success', textResultForLlm: 'done' } as const
  expect(read.format.messages(read.calls.map((call) => ({ call, result })))).toEqual([
    { did: 'a:b', said: 'done' },
  ])
})

/** Code that may name a vendor, and why. */
const MAY_NAME_VENDORS = [
  /^packages\/contract\/src\/vendors\//,
  // Both export the types of the vendors' tools.
  /^packages\/(?:contract|client)\/src\/index\.ts$/,
  // MCP as a kind of runner.
  /^packages\/contract\/src\/tool-definition\.ts$/,
  // Definitions in the shapes of vendors are accepted too.
  /^functions\/src\/catalog\/definitions\/(?:definition-schema|loose-shape)\.ts$/,
]

test('no code names a vendor but the files of the vendors', () => {
  const sources = [...readSource('packages/contract/src', 'packages/client/src', 'functions/src')]
  const formats = CALL_FORMATS.map(({ name }) => name)
  const vendors = [...new Set([...DIALECTS.map((dialect) => dialect.split('-')[0]), ...formats])]
  const name = new RegExp(vendors.join('|'), 'i')
  const named = sources.filter(([, text]) => name.test(withoutComments(text)))
  const paths = named.map(([path]) => path)
  expect(paths).toContain('packages/contract/src/vendors/registry.ts')
  expect(paths.filter((path) => !MAY_NAME_VENDORS.some((allowed) => allowed.test(path)))).toEqual([])
})

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

test("the vendors' own search and the mark of a deferred tool are what the types of their SDKs take", () => {
  const searches: { readonly anthropic: ToolUnion; readonly 'openai-responses': ResponsesTool } = {
    anthropic: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    'openai-responses': { type: 'tool_search' },
  }
  const mark: Pick<AnthropicTool, 'defer_loading'> &
    Pick<ResponsesTool & { type: 'function' }, 'defer_loading'> = {
    defer_loading: true,
  }
  const known = DIALECTS.flatMap((dialect) => {
    const { deferral } = dialectRules<(typeof DIALECTS)[number]>(dialect)
    return deferral ? [[dialect, deferral]] : []
  })
  expect(Object.fromEntries(known)).toEqual({
    anthropic: { searchTool: searches.anthropic, mark },
    'openai-responses': { searchTool: searches['openai-responses'], mark },
  })
})
