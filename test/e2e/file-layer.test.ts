import { afterAll, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SkippedItem } from '../../functions/src/catalog/views/layer-source.ts'
import type { ListedTool } from '@toolrack/contract'
import { folderWhen } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { list, listedNames, tool } from '../support/tool.ts'
import { UNPRIVILEGED } from '../support/unprivileged.ts'
import { until } from '../support/until.ts'

const folder = temporaryFolder()
const at = (name: string): string => join(folder.path, name)
const family = (name: string, ...tools: unknown[]): string => JSON.stringify({ family: name, tools })

writeFileSync(at('a-good.json'), family('good', tool('first'), tool('second')))
writeFileSync(at('b-broken.json'), '{\n  "family": "broken",\n  "tools": [ oops ]\n}')
writeFileSync(
  at('c-items.json'),
  family('items', tool('no name'), tool('third'), { name: 'x', parameters: { required: 'y' } }),
)
writeFileSync(at('d-unreadable.json'), family('unreadable', tool('unreadable')))
chmodSync(at('d-unreadable.json'), 0)
writeFileSync(at('e-huge.json'), '')
truncateSync(at('e-huge.json'), 50 * 1024 * 1024)
mkdirSync(at('f-folder.json'))
spawnSync('mkfifo', [at('g-pipe.json')])
symlinkSync(at('nowhere'), at('h-dangling.json'))
writeFileSync(at('i-twice.json'), family('twice', tool('first', 'Late.'), tool('fourth')))
writeFileSync(at('j-family.json'), JSON.stringify({ family: 5, tools: [] }))
writeFileSync(at('k-latin1.json'), Buffer.from(family('latin', tool('caf\u00e9')), 'latin1'))
writeFileSync(at('l-number.json'), '5')
writeFileSync(at('m-empty.json'), '')
writeFileSync(at('n-bom.json'), `\uFEFF${family('bom', tool('bom'))}`)
writeFileSync(at('readme.md'), 'not a definitions file')
writeFileSync(at('.hidden.json'), '{')
mkdirSync(at('o-closed'))
writeFileSync(at('o-closed/inside.json'), family('closed', tool('unreadable')))
chmodSync(at('o-closed'), 0)
mkdirSync(at('.hidden'))
writeFileSync(at('.hidden/inside.json'), '{')
writeFileSync(at('z-last.json'), family('last', tool('last')))

const modules = temporaryFolder()
writeFileSync(join(modules.path, 'locked.py'), 'TOOL_SPECS = []\n')
chmodSync(join(modules.path, 'locked.py'), 0)

const server = await Server.start({
  definitions: folder.path,
  env: { TOOLRACK_TOOLS_DIR: modules.path },
  through: UNPRIVILEGED ?? [],
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
  modules[Symbol.dispose]()
})

/** Everything that is skipped in the folder of definitions. The one module of the other folder has a test of its own. */
async function skipped(): Promise<readonly SkippedItem[]> {
  const health = await server.fetch('/health')
  const { layers } = (await health.json()) as { layers: { file: { skipped: SkippedItem[] } } }
  return layers.file.skipped.filter(({ source }) => source !== 'locked.py')
}

test('whatever lies in the folder, the definitions that are good are served', async () => {
  const names = await listedNames(server)
  expect(names.filter((name) => name !== 'unreadable')).toEqual([
    'first',
    'fourth',
    'last',
    'second',
    'third',
  ])
  const [first] = await list(server, 'names=first')
  expect(first?.function.description).toBe('Does one small thing.')
})

const SKIPS: readonly [string, string, RegExp][] = [
  ['b-broken.json', '', /^is not valid JSON \(line 3, column 14\)$/],
  ['c-items.json', '/tools/0/function/name', /^character 3 \(U\+0020\) is not allowed there/],
  ['c-items.json', '/tools/2/parameters/required', /must be array.*list of names/],
  ['e-huge.json', '', /^is 52428800 bytes; a definitions file may have 4194304$/],
  ['f-folder.json', '', /^is not a file/],
  ['g-pipe.json', '', /^is not a file/],
  ['h-dangling.json', '', /^is gone, or is a link to nothing$/],
  ['i-twice.json', '/tools/0', /^the name first is taken by a-good\.json#\/tools\/0/],
  ['j-family.json', '/family', /^is not a definitions file/],
  ['k-latin1.json', '', /^is not UTF-8$/],
  ['l-number.json', '', /^is not a definitions file/],
  ['m-empty.json', '', /^is empty$/],
  ['n-bom.json', '', /^starts with a byte order mark/],
]
test('each file and item that is skipped is told at its place with its fault', async () => {
  const items = await skipped()
  for (const [source, pointer, message] of SKIPS) {
    const item = items.find((one) => one.source === source && one.pointer === pointer)
    expect([source, pointer, item?.message]).toEqual([source, pointer, expect.stringMatching(message)])
  }
})

const withPermissions = testWhere(
  UNPRIVILEGED !== undefined,
  'setpriv is missing: as root a file without permission can not be tried.',
)

withPermissions('a file or folder without permission is skipped and reported with what to do', async () => {
  for (const source of ['d-unreadable.json', 'o-closed']) {
    const item = (await skipped()).find((one) => one.source === source)
    expect(item?.message).toBe('cannot be read: permission denied; let the service read it')
  }
  expect(await listedNames(server, 'names=unreadable')).toEqual([])
})

withPermissions('a module that the service may not read is told so, with the cure', async () => {
  const { skipped: told } = await folderWhen(server, (body) => body.skipped.length > 0)
  expect(told).toEqual([
    {
      file: 'locked.py',
      reason: 'MODULE_INVALID',
      kind: 'file_unreadable',
      message: 'locked.py: the file cannot be read (permission denied). Let the service read it.',
      serving: null,
    },
  ])
})

test('nothing else is skipped, and what is no *.json or hidden is not looked at', async () => {
  const sources = new Set((await skipped()).map(({ source }) => source))
  for (const source of ['d-unreadable.json', 'o-closed']) sources.delete(source)
  expect(sources).toEqual(new Set(SKIPS.map(([source]) => source)))
})

test('each skip is in the log once, and neither log nor health has an absolute path or a piece of a file', async () => {
  const lines = server.log.split('\n').filter((line) => line.startsWith('warn  definition skipped'))
  const told = lines.map(
    (line) => JSON.parse(line.slice(line.indexOf('{'))) as { at: string; reason: string },
  )
  const items = await skipped()
  expect(told).toEqual(
    items.map(({ source, pointer, message }) => ({
      at: `${source}${pointer && `#${pointer}`}`,
      reason: message,
    })),
  )
  for (const text of [server.log, JSON.stringify(items)]) {
    expect(text).not.toContain(folder.path)
    expect(text).not.toContain('oops')
  }
})

test('/health without a token says nothing of the files', async () => {
  expect(await (await fetch(`${server.url}/health`)).json()).toEqual({
    status: 'ok',
    version: expect.any(String),
    isolation: 'L0',
  })
})

const descriptionOf = async (name: string): Promise<string | undefined> =>
  (await list(server, `names=${name}`))[0]?.function.description

/** Waits until the tools `arrives` and `mended` have these descriptions. Undefined is a tool that is not listed. */
function areListed(...wanted: readonly (string | undefined)[]) {
  return until(
    () => Promise.all(['arrives', 'mended'].map(descriptionOf)),
    (texts) => JSON.stringify(texts) === JSON.stringify(wanted),
  )
}

test('a file that is added, changed, broken, mended or removed while the server runs is seen by a later list, and its siblings stay', async () => {
  const good = family('mended', tool('mended'))
  writeFileSync(at('new.json'), family('new', tool('arrives', 'One.')))
  writeFileSync(at('mended.json'), good)
  await areListed('One.', 'Does one small thing.')

  writeFileSync(at('new.json'), family('new', tool('arrives', 'Two.'), tool('beside')))
  writeFileSync(at('mended.json'), good.slice(0, -1))
  await areListed('Two.', undefined)
  expect(await listedNames(server, 'category=new')).toEqual(['arrives', 'beside'])
  const fault = 'is not valid JSON (it ends too early)'
  expect((await skipped()).find(({ source }) => source === 'mended.json')?.message).toBe(fault)
  expect(server.log).toContain(`{"at":"mended.json","reason":"${fault}"}`)
  expect(await listedNames(server, 'names=first,last')).toEqual(['first', 'last'])

  rmSync(at('new.json'))
  writeFileSync(at('mended.json'), good)
  await areListed(undefined, 'Does one small thing.')
  expect(await listedNames(server, 'names=first,last')).toEqual(['first', 'last'])
  rmSync(at('mended.json'))
  await areListed(undefined, undefined)
})

test('a folder that can not be read leaves the last good definitions, marked stale; strict=1 is a 503', async () => {
  const before = await listedNames(server)
  const etag = (await server.fetch('/workflows/tools/list')).headers.get('etag')
  const away = `${folder.path}-away`
  renameSync(folder.path, away)
  try {
    const layers = async () => (await server.fetch('/workflows/tools/list')).headers.get('x-tools-layers')
    await until(layers, (text) => text?.endsWith('file=stale') === true)
    expect(await listedNames(server)).toEqual(before)
    expect((await server.fetch('/workflows/tools/list')).headers.get('etag')).not.toBe(etag)
    const strict = await server.fetch('/workflows/tools/list?strict=1')
    expect(strict.status).toBe(503)
    expect(strict.headers.get('retry-after')).toBe('1')
    expect(await (await fetch(`${server.url}/health`)).json()).toMatchObject({ status: 'degraded' })
    expect(server.log).toMatch(/^error layer could not be read {2}\{"layer":"file"/m)
  } finally {
    renameSync(away, folder.path)
  }
  const strict = async () => (await server.fetch('/workflows/tools/list?strict=1')).status
  await until(strict, (status) => status === 200)
  expect(await listedNames(server)).toEqual(before)
  expect((await server.fetch('/workflows/tools/list')).headers.get('etag')).toBe(etag)
})

test('the tools by which a model finds others belong to no folder', async () => {
  const answer = await server.fetch('/workflows/tools/list?names=[]&with=search')
  const listed = (await answer.json()) as ListedTool[]
  expect(listed.map((one) => one.function.name)).toEqual(['load_tools', 'search_tools'])
  expect(answer.headers.get('x-tools-unknown')).toBeNull()
  const [, found] = await invoked(server, 'search_tools', { query: 'tools' })
  expect(found).toMatchObject({ resultType: 'success' })
})
