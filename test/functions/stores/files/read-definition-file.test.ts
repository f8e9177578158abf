import { afterAll, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  FILE_BYTES_MAX,
  readDefinitionFile,
} from '../../../../functions/src/stores/files/read-definition-file.ts'
import type { DefinitionFile } from '../../../../functions/src/stores/files/read-definition-file.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { tool } from '../../../support/tool.ts'

const compilers = new SchemaCompilers()
const folder = temporaryFolder()
afterAll(async () => {
  folder[Symbol.dispose]()
  await compilers.close()
})

function read(text: string | Uint8Array): Promise<DefinitionFile> {
  const path = join(folder.path, 'tools.json')
  writeFileSync(path, text)
  return readDefinitionFile(path, compilers)
}
const readFamily = (file: object): Promise<DefinitionFile> => read(JSON.stringify(file))

test('a tool has the category of its family unless it names its own', async () => {
  const { definitions } = await readFamily({
    family: 'f',
    tools: [tool('a'), tool('b', 'B.', { category: 'own' })],
  })
  expect(definitions.map(({ definition }) => definition.category)).toEqual(['f', 'own'])
})

test('the category of a folded tool counts, and a parameter of that name is none', async () => {
  const folded = { parameters: { type: 'object' }, category: 'inner' }
  const properties = { category: { type: 'string' } }
  const { definitions, skipped } = await readFamily({
    family: 'f',
    tools: [
      { name: 'a', defs: folded },
      { name: 'b', spec: folded, category: 'outer' },
      { name: 'c', defs: properties },
    ],
  })
  expect(skipped).toEqual([])
  expect(definitions.map(({ definition }) => definition.category)).toEqual(['inner', 'outer', 'f'])
  expect(definitions[2]?.definition.function.parameters).toMatchObject({ properties })
})

test.each<[string, string, object]>([
  ['a file at the top', 'tools.json', { tools: [tool('a')] }],
  ['a file in a folder', 'jobs/tools/a.json', { tools: [tool('a')] }],
  ['an array', 'tools.json', [tool('a')]],
  ['one definition in a folder', 'tools/read_file.json', tool('a')],
])('without a family, a tool has the category of its folder or file: %s', async (_what, source, file) => {
  const path = join(folder.path, 'tools.json')
  writeFileSync(path, JSON.stringify(file))
  const { definitions } = await readDefinitionFile(path, compilers, source)
  expect(definitions.map(({ definition }) => definition.category)).toEqual(['tools'])
})

test('a folder whose name cannot be a category gives none, and its tools are read', async () => {
  const path = join(folder.path, 'tools.json')
  writeFileSync(path, JSON.stringify([tool('a'), tool('b', 'B.', { category: 'own' })]))
  const { definitions, skipped } = await readDefinitionFile(path, compilers, 'a, b/tools.json')
  expect([skipped, definitions.map(({ definition }) => definition.category)]).toEqual([
    [],
    [undefined, 'own'],
  ])
})

test('one definition may name the schema of editors', async () => {
  const { definitions } = await readFamily({ $schema: '../x.json', ...tool('a') })
  expect(definitions).toMatchObject([{ pointer: '', definition: tool('a') }])
})

test('a fault says where it stands in an array and in one definition', async () => {
  const bad = { name: 'b', description: 'B.', spec: { properties: { c: { type: 'strin' } } } }
  const inArray = await readFamily([tool('a'), bad, 7])
  expect(inArray.skipped.map(({ pointer }) => pointer)).toEqual(['/1/spec/properties/c/type', '/2'])
  expect((await readFamily(bad)).skipped.map(({ pointer }) => pointer)).toEqual(['/spec/properties/c/type'])
})

test.each<[string, unknown, RegExp]>([
  ['a number', 5, /^is not a definitions file .*expected object, received number/],
  ['null', null, /^is not a definitions file/],
  ['1,001 definitions', Array.from({ length: 1_001 }, () => 0), /^is not a definitions file .*1000/],
])('a file that holds %s is skipped as a whole', async (_what, file, message) => {
  const { definitions, skipped } = await read(JSON.stringify(file))
  const source = 'tools.json'
  expect([definitions, skipped]).toEqual([
    [],
    [{ source, pointer: '', message: expect.stringMatching(message) }],
  ])
})

test('an item says in which file and where in it it stands', async () => {
  const { definitions } = await readFamily({ family: 'f', tools: [5, tool('a')] })
  expect(definitions).toMatchObject([{ source: 'tools.json', pointer: '/tools/1' }])
})

test('loose shapes are read in a file as they are in a request', async () => {
  const { definitions, skipped } = await readFamily({
    family: 'f',
    tools: [{ name: 'mcp', description: 'D.', inputSchema: { type: 'dict' } }],
  })
  expect(skipped).toEqual([])
  expect(definitions).toMatchObject([
    { definition: { function: { name: 'mcp', parameters: { type: 'object' } } } },
  ])
})

test('every fault of every bad item is told, and the good items are kept', async () => {
  const { definitions, skipped } = await readFamily({
    family: 'f',
    tools: [
      null,
      tool('a'),
      'text',
      [],
      { name: 'b', description: 1, tags: [1] },
      tool('c', 'C.', { tgas: ['x'] }),
    ],
  })
  expect(definitions).toHaveLength(1)
  expect(skipped.map(({ pointer }) => pointer)).toEqual([
    '/tools/0',
    '/tools/2',
    '/tools/3',
    '/tools/4/description',
    '/tools/4/tags/0',
    '/tools/5/tgas',
  ])
})

test.each([
  ['with an empty family', 'family', { family: '', tools: [] }],
  ['with a comma in its family', 'family', { family: 'a,b', tools: [] }],
  ['without tools', 'tools', { family: 'f' }],
  ['with tools that are no list', 'tools', { family: 'f', tools: {} }],
  ['with 1,001 tools', 'tools', { family: 'f', tools: Array.from({ length: 1_001 }, () => 0) }],
])('a file %s is skipped as a whole, with the place', async (_what, key, file) => {
  const { definitions, skipped } = await readFamily(file)
  expect(definitions).toEqual([])
  expect(skipped).toMatchObject([{ source: 'tools.json', pointer: `/${key}` }])
})

test('a key of the file that is not known is told, for it may be a mistyped one', async () => {
  const { definitions, skipped } = await readFamily({ family: 'f', tools: [tool('a')], toools: [tool('b')] })
  expect(definitions).toEqual([])
  expect(skipped).toHaveLength(1)
  expect(skipped[0]?.message).toContain('toools')
})

test('a file of 4 MB is read and one byte more is not', async () => {
  const text = JSON.stringify({ family: 'f', tools: [tool('a')] })
  expect((await read(text.padEnd(FILE_BYTES_MAX))).definitions).toHaveLength(1)
  expect((await read(text.padEnd(FILE_BYTES_MAX + 1))).skipped).toMatchObject([
    { message: `is ${FILE_BYTES_MAX + 1} bytes; a definitions file may have ${FILE_BYTES_MAX}` },
  ])
})

test.each([
  ['NaN', '{"family":"f",\n "tools":[NaN]}', 'is not valid JSON (line 2, column 11)'],
  ['a comment', '// tools\n{"family":"f","tools":[]}', 'is not valid JSON (line 1, column 1)'],
  ['a trailing comma', '{"family":"f","tools":[],\n}', 'is not valid JSON (line 2, column 1)'],
  ['no end', '{"family":"f","tools":[', 'is not valid JSON (it ends too early)'],
  [
    'a key twice',
    '{"family":"f","family":"g","tools":[]}',
    'holds the same key twice; which of them counts is unclear',
  ],
  ['blanks', ' \n ', 'is empty'],
])('a file with %s says what is wrong with it, and where', async (_what, text, message) => {
  expect(await read(text)).toMatchObject({ definitions: [], skipped: [{ source: 'tools.json', message }] })
})

test('a file that is not there, or is a folder, is told without its path', async () => {
  const gone = await readDefinitionFile(join(folder.path, 'gone.json'), compilers)
  expect(gone.skipped).toEqual([
    { source: 'gone.json', pointer: '', message: 'is gone, or is a link to nothing' },
  ])
  const [item] = (await readDefinitionFile(folder.path, compilers)).skipped
  expect(item?.message).toBe('cannot be read: EISDIR')
})
