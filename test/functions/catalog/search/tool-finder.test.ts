import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { ToolFinder } from '../../../../functions/src/catalog/search/tool-finder.ts'
import { ToolSearch } from '../../../../functions/src/catalog/search/tool-search.ts'
import { catalogView } from '../../../support/catalog-view.ts'

const { signal } = new AbortController()

test.each([
  ['Bakes bread, e.g. rye. Needs an oven.', 'Bakes bread, e.g. rye.'],
  ['Bakes bread\nin an oven.', 'Bakes bread'],
  [`Bakes bread ${'x'.repeat(400)}`, `Bakes bread ${'x'.repeat(288)}`],
])('of %j a model reads %j', async (description, sentence) => {
  const parameters = { type: 'object', properties: {} }
  const bake: ToolDefinition = { type: 'function', function: { name: 'bake', description, parameters } }
  const view = catalogView({ file: [bake] })
  const finder = new ToolFinder({ view, uid: 'ann', dialect: undefined, search: new ToolSearch(), signal })
  expect(await finder.search('bread')).toMatchObject({ tools: [{ name: 'bake', description: sentence }] })
})

test('near-identical tools are named beside a found one, as the vendor of the model may call them', async () => {
  const names = ['bake:rye', 'bake:rye_2', 'bake:rye_3', 'search_it']
  const described = [
    'Bakes bread in an oven.',
    'Bakes bread in the oven.',
    'Bakes bread in ovens.',
    'Searches bread.',
  ]
  const parameters = { type: 'object', properties: {} }
  const tools = names.map((name, index): ToolDefinition => {
    return { type: 'function', function: { name, description: described[index] ?? '', parameters } }
  })
  const view = catalogView({ file: tools })
  const finder = new ToolFinder({ view, uid: 'ann', dialect: 'openai', search: new ToolSearch(), signal })
  expect(await finder.search('bake bread', 2)).toMatchObject({
    tools: [{ name: 'bake__rye', twins: ['bake__rye_2', 'bake__rye_3'] }, { name: 'search_it' }],
  })
  expect((await finder.search('bake bread', 2))['tools']).not.toContainEqual(
    expect.objectContaining({ name: 'search_it', twins: expect.anything() }),
  )
})

test('of many near-identical tools twenty are named', async () => {
  const parameters = { type: 'object', properties: {} }
  const tools = Array.from({ length: 40 }, (_, index): ToolDefinition => {
    const name = `bake_${index}`
    return { type: 'function', function: { name, description: 'Bakes bread in an oven.', parameters } }
  })
  const view = catalogView({ file: tools })
  const finder = new ToolFinder({ view, uid: 'ann', dialect: undefined, search: new ToolSearch(), signal })
  const { tools: found } = await finder.search('bread')
  expect(found).toEqual([expect.objectContaining({ name: 'bake_0', twins: expect.any(Array) })])
  expect((found as { twins: string[] }[])[0]?.twins).toHaveLength(20)
})

test('a model never finds the tools by which it searches', async () => {
  const parameters = { type: 'object', properties: {} }
  const runner = { kind: 'builtin', builtin: 'search_tools' } as const
  const tools: readonly ToolDefinition[] = [
    { type: 'function', function: { name: 'search_tools', description: 'Finds tools.', parameters }, runner },
    { type: 'function', function: { name: 'toolbox', description: 'Finds tools in a box.', parameters } },
  ]
  const view = catalogView({ file: tools })
  const finder = new ToolFinder({ view, uid: 'ann', dialect: undefined, search: new ToolSearch(), signal })
  for (const query of ['find tools', 'search_tools for a box', 'tools'])
    expect(await finder.search(query, 2)).toMatchObject({ tools: [{ name: 'toolbox' }] })
})
