import { expect, test } from '@jest/globals'
import { aliasOf, definitionDigest, listedTool } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { STANDARD_DEFINITIONS, ToolDefs } from '../../packages/client/src/index.ts'
import type { ListOptions } from '../../packages/client/src/index.ts'
import {
  standardDefinitionsPath,
  standardDefinitionsText,
} from '../../scripts/toolchain/standard-definitions.mjs'
import { tool } from '../support/tool.ts'
import { namesOf } from './scripted-service.ts'

/** Nothing listens there, and nothing is retried for long. */
function away(fallback?: readonly ToolDefinition[]): ToolDefs {
  return new ToolDefs({ service: 'http://127.0.0.1:1', token: 't', deadlineMs: 50, fallback })
}

async function localNames(options: ListOptions, fallback?: readonly ToolDefinition[]): Promise<string[]> {
  const list = await away(fallback).list(options)
  expect(list.source).toBe('local')
  return namesOf(list.tools as readonly { function: { name: string } }[])
}

test('the definitions that ship are those of the file layer: `npm run client-definitions` writes them anew', () => {
  expect(readFileSync(standardDefinitionsPath, 'utf8')).toBe(standardDefinitionsText())
})

test('the standard and the tasks family ship, and are listed as the service would list them', async () => {
  const { tools, unknown } = await away().list()
  expect(tools).toEqual(STANDARD_DEFINITIONS.map(listedTool))
  expect(unknown).toEqual([])
  expect(new Set(STANDARD_DEFINITIONS.map(({ category }) => category))).toEqual(new Set(['cli', 'tasks']))
})

const own = [tool('ns:b'), tool('a.c', 'Has tags.', { tags: ['x'], category: 'odd' }), tool('ns__b')].map(
  (definition) => definition as unknown as ToolDefinition,
)
const [first] = own as [ToolDefinition]

test.each<[string, ListOptions, readonly string[]]>([
  ['a list', { names: ['ns:b', 'a.c'] }, ['a.c', 'ns:b']],
  ['a text with stray commas', { names: ',ns:b, ,a.c' }, ['a.c', 'ns:b']],
  ['a JSON array', { names: '["ns:b"]' }, ['ns:b']],
  ['an empty JSON array', { names: '[]' }, []],
  ['an empty list', { names: [] }, []],
  ['words that one tool has', { q: 'What has TAGS?' }, ['a.c']],
  ['words that no tool has', { q: 'zebra' }, []],
  ['loaded tools behind the others', { names: ['ns:b'], loaded: ['ns__b', 'a.c'] }, ['ns:b', 'ns__b', 'a.c']],
  ['loaded tools only once', { names: ['ns:b', 'a.c'], loaded: ['ns:b'] }, ['a.c', 'ns:b']],
  ['blanks', { names: ' , ' }, ['a.c', 'ns:b', 'ns__b']],
  ['an alias', { names: aliasOf('a.c') }, ['a.c']],
  ['an alias that is the name of another tool', { names: 'ns__b' }, ['ns__b']],
  ['the present digest', { names: [`ns:b@${definitionDigest(first)}`] }, ['ns:b']],
  ['another digest', { names: [`ns:b@sha256:${'0'.repeat(64)}`, 'a.c'] }, ['a.c']],
  ['a tag', { tags: ['x', 'y'] }, ['a.c']],
  ['a category', { category: 'odd' }, ['a.c']],
  ['a scope', { scope: 'ns*,tag:x,!ns__b' }, ['a.c', 'ns:b']],
  ['two scopes', { scope: ['ns*', '!ns:b'] }, ['ns__b']],
  ['a group', { scope: '@odd' }, ['a.c']],
  ['the tools that the service runs', { scope: '@internal' }, []],
  ['a name and a scope that do not meet', { names: 'ns:b', scope: 'a.c' }, []],
  ['a name and a tag that do not meet', { names: 'ns:b', tags: ['x'] }, []],
])('local definitions obey names, tags and category: %s', async (_title, options, expected) => {
  expect(await localNames(options, own)).toEqual(expected)
})

test('what a scope leaves out and what it does not match are told, and a fault is one with its place', async () => {
  const options = { names: 'ns:b,NOPE,a.c', scope: ['a.*,gti_*,!zzz', '*'] }
  expect(await away(own).list(options)).toMatchObject({
    unknown: ['NOPE'],
    leftOut: ['ns:b'],
    unmatched: ['gti_*', 'zzz'],
  })
  await expect(away(own).list({ scope: 'a,,b' })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: 'The option scope has an empty item, at character 3. Is there a comma too many?',
  })
})

test('a stored scope is known to the service only, and without it there is no list, which could be wider', async () => {
  await expect(away(own).list({ scope: ['*', ' ref:room/7'] })).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  })
})

test('names that no local definition has are told', async () => {
  const { unknown } = await away(own).list({ names: ['ns:b', 'NOPE', 'sha@sha256:00'] })
  expect(unknown).toEqual(['NOPE', 'sha'])
})

test('local definitions obey the dialect: OpenAI is given aliases, and a tool whose alias means another is left out', async () => {
  const { tools, quarantined } = await away(own).list({ dialect: 'openai', names: ['ns:b', 'a.c'] })
  expect(namesOf(tools)).toEqual([aliasOf('a.c')])
  expect(quarantined).toEqual(['ns:b'])
  expect(await localNames({ dialect: 'openai' }, own.slice(0, 2))).toEqual([aliasOf('a.c'), 'ns__b'])
})

test('a dialect that there is not is refused before anything is asked', async () => {
  await expect(away().list({ dialect: 'openia' as 'openai' })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringMatching(/^The option dialect must be one of openai, /),
  })
})

test('a schema that a vendor can not express is left out of its list, and named', async () => {
  const parameters = { type: 'object', properties: {}, anyOf: [{ required: ['a'] }, { required: ['b'] }] }
  const odd = {
    type: 'function',
    function: { name: 'ODD', description: 'Odd.', parameters },
  } as ToolDefinition
  const { tools, quarantined } = await away([odd]).list({ dialect: 'openai' })
  expect([tools, quarantined]).toEqual([[], ['ODD']])
  expect(await localNames({}, [odd])).toEqual(['ODD'])
})
