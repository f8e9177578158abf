import { afterAll, expect, test } from '@jest/globals'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileLayer } from '../../../../functions/src/stores/files/file-layer.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { WAITING_PER_USER } from '../../../../functions/src/catalog/schemas/worker-pool.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { tool } from '../../../support/tool.ts'

const compilers = new SchemaCompilers()
afterAll(() => compilers.close())

const family = (...tools: unknown[]): string => JSON.stringify({ family: 'test', tools })
function folderOf(files: Readonly<Record<string, string>>): ReturnType<typeof temporaryFolder> {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text)
  return folder
}

test('two folders with the same files have the same revision, whatever they are called', async () => {
  const files = { 'a.json': family(tool('a')), 'b.json': family(tool('b')), 'c.json': '{' }
  using one = folderOf(files)
  using other = folderOf(files)
  const [first, second] = await Promise.all(
    [one, other].map(({ path }) => new FileLayer(path, compilers).read()),
  )
  expect(second).toEqual(first)
})

test('a folder of more files than checks may wait is read whole', async () => {
  const names = Array.from({ length: WAITING_PER_USER * 3 }, (_, index) => `tool_${index}`)
  using folder = folderOf(Object.fromEntries(names.map((name) => [`${name}.json`, family(tool(name))])))
  const { definitions, skipped } = await new FileLayer(folder.path, compilers).read()
  expect(skipped).toEqual([])
  expect(definitions.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
})

test('a read since the present revision brings nothing; any other brings the whole layer', async () => {
  using folder = folderOf({ 'a.json': family(tool('a'), tool('b')), 'z.json': 'x' })
  const layer = new FileLayer(folder.path, compilers)
  const { revision, skipped } = await layer.read()
  expect(await layer.read(revision)).toEqual({
    revision,
    whole: false,
    definitions: [],
    deleted: [],
    skipped,
  })
  expect(await layer.read('older')).toMatchObject({
    revision,
    whole: true,
    definitions: [{ name: 'a' }, { name: 'b' }],
  })
})

test('every change that a reader can see changes the revision', async () => {
  using folder = folderOf({ 'a.json': family(tool('a')) })
  const at = (name: string): string => join(folder.path, name)
  const layer = new FileLayer(folder.path, compilers)
  const revisions = [(await layer.read()).revision]
  const changes = [
    () => writeFileSync(at('b.json'), family(tool('b'))),
    () => writeFileSync(at('b.json'), family(tool('b', 'Other.'))),
    () => writeFileSync(at('b.json'), family(tool('b', 'Other.', { tags: ['new'] }))),
    () => renameSync(at('b.json'), at('c.json')),
    () => writeFileSync(at('c.json'), '{'),
    () => mkdirSync(at('d.json')),
  ]
  for (const change of changes) {
    change()
    revisions.push((await layer.read(revisions.at(-1))).revision)
  }
  expect(new Set(revisions).size).toBe(changes.length + 1)
  rmSync(at('c.json'))
  rmSync(at('d.json'), { recursive: true })
  expect((await layer.read()).revision).toBe(revisions[0])
})

test('a definition keeps its own revision when another one of its file changes', async () => {
  using folder = folderOf({ 'a.json': family(tool('stays'), tool('changes')) })
  const layer = new FileLayer(folder.path, compilers)
  const before = await layer.read()
  writeFileSync(join(folder.path, 'a.json'), family(tool('stays'), tool('changes', 'Other.')))
  const after = await layer.read()
  const revisions = (read: typeof before, name: string) =>
    read.definitions.find((one) => one.name === name)?.revision
  expect(revisions(after, 'stays')).toBe(revisions(before, 'stays'))
  expect(revisions(after, 'changes')).not.toBe(revisions(before, 'changes'))
})

test('of two tools of one name the first by file name and place is kept, also within a file', async () => {
  using folder = folderOf({
    'b.json': family(tool('twice', 'B.')),
    'a.json': family(tool('twice', 'A.'), tool('twice', 'A again.')),
  })
  const { definitions, skipped } = await new FileLayer(folder.path, compilers).read()
  expect(definitions).toMatchObject([{ name: 'twice', source: 'a.json#/tools/0' }])
  expect(skipped.map(({ source, pointer }) => source + pointer)).toEqual(['a.json/tools/1', 'b.json/tools/0'])
})

test('when the file that held a name goes, the other one of that name takes its place', async () => {
  using folder = folderOf({ 'a.json': family(tool('twice', 'A.')), 'b.json': family(tool('twice', 'B.')) })
  const layer = new FileLayer(folder.path, compilers)
  await layer.read()
  rmSync(join(folder.path, 'a.json'))
  expect(await layer.read()).toMatchObject({ definitions: [{ source: 'b.json#/tools/0' }], skipped: [] })
})

test('a folder that is not there is an error, for an empty layer would say that all tools are gone', async () => {
  using folder = temporaryFolder()
  await expect(new FileLayer(join(folder.path, 'gone'), compilers).read()).rejects.toMatchObject({
    code: 'ENOENT',
  })
})

test.each<[string, Record<string, string>, RegExp]>([
  ['no file', {}, /^no definition can be served: neither the folder nor its subfolders have such a file\./],
  ['no definition in its files', { 'a.json': family() }, /^no definition can be served: no file has one\./],
])('a folder with %s has a fault that says so', async (_what, files, message) => {
  using folder = folderOf(files)
  expect(await new FileLayer(folder.path, compilers).read()).toMatchObject({
    definitions: [],
    skipped: [{ source: '*.json', pointer: '', message: expect.stringMatching(message) }],
  })
  writeFileSync(join(folder.path, 'b.json'), family(tool('b')))
  expect(await new FileLayer(folder.path, compilers).read()).toMatchObject({ skipped: [] })
})

test('of one name in a folder and in its subfolder the first by path is kept, and the fault names both', async () => {
  using folder = folderOf({ 'z.json': family(tool('twice', 'Z.')) })
  mkdirSync(join(folder.path, 'cli'))
  writeFileSync(join(folder.path, 'cli/twice.json'), JSON.stringify(tool('twice', 'C.')))
  const { definitions, skipped } = await new FileLayer(folder.path, compilers).read()
  expect(definitions).toMatchObject([{ name: 'twice', source: 'cli/twice.json' }])
  expect(skipped).toMatchObject([
    { source: 'z.json', pointer: '/tools/0', message: expect.stringContaining('by cli/twice.json;') },
  ])
})

test('a file that comes, changes or goes in a subfolder is seen', async () => {
  using folder = folderOf({ 'a.json': family(tool('a')) })
  const layer = new FileLayer(folder.path, compilers)
  const path = join(folder.path, 'cli/read.json')
  const texts = async () => (await layer.read()).definitions.map(({ text }) => text)
  const before = await texts()
  mkdirSync(join(folder.path, 'cli'))
  writeFileSync(path, JSON.stringify(tool('b', 'One.')))
  expect((await texts()).join()).toContain('One.')
  writeFileSync(path, JSON.stringify(tool('b', 'Other.')))
  expect((await texts()).join()).toContain('Other.')
  rmSync(join(folder.path, 'cli'), { recursive: true })
  expect(await texts()).toEqual(before)
})
