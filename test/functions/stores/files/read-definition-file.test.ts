import { afterAll, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  FILE_BYTES_MAX,
  readDefinitionFile,
} from '../../../../functions/src/stores/files/read-definition-file.ts'
import type { DefinitionFile } from '../../../../functions/src/stores/files/read-definition-file.ts'
import { SchemaCompilers } from '../../../../functions/src/tools/schemas/schema-compilers.ts'
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
  ['without a family', 'family', { tools: [] }],
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
