import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { ToolFinder } from '../../../../functions/src/tools/search/tool-finder.ts'
import { ToolSearch } from '../../../../functions/src/tools/search/tool-search.ts'
import { catalogView } from '../../../support/catalog-view.ts'

test.each([
  ['Bakes bread, e.g. rye. Needs an oven.', 'Bakes bread, e.g. rye.'],
  ['Bakes bread\nin an oven.', 'Bakes bread'],
  [`Bakes bread ${'x'.repeat(400)}`, `Bakes bread ${'x'.repeat(288)}`],
])('of %j a model reads %j', async (description, sentence) => {
  const parameters = { type: 'object', properties: {} }
  const bake: ToolDefinition = { type: 'function', function: { name: 'bake', description, parameters } }
  const view = catalogView({ file: [bake] })
  const { signal } = new AbortController()
  const finder = new ToolFinder({ view, uid: 'ann', dialect: undefined, search: new ToolSearch(), signal })
  expect(await finder.search('bread')).toMatchObject({ tools: [{ name: 'bake', description: sentence }] })
})
