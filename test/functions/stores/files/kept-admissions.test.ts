import { afterAll, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileLayer } from '../../../../functions/src/stores/files/file-layer.ts'
import { KeptAdmissions } from '../../../../functions/src/stores/files/kept-admissions.ts'
import type { LayerRead } from '../../../../functions/src/catalog/views/layer-source.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const workerUrl = new URL('../../../support/schema-workers/obedient-worker.ts', import.meta.url)
const compilers = new SchemaCompilers({ workerUrl })
afterAll(() => compilers.close())

type Start = { readonly read: LayerRead; readonly compiled: number; readonly warnings: readonly string[] }

/** A folder of definition files, whose compilations are counted, and the file that keeps what was found. */
function filesAndKept() {
  const folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  const [files, data, count] = [at('definitions'), at('data'), at('count')]
  mkdirSync(files)
  mkdirSync(data)
  const path = join(data, 'kept')
  return {
    files,
    data,
    path,
    put(name: string, ...tools: readonly JsonValue[]): void {
      writeFileSync(join(files, `${name}.json`), JSON.stringify({ family: 'test', tools }))
    },
    /** A tool whose compilation is counted, or whose worker does what `command` says. */
    tool(name: string, command = `count ${count}`): JsonObject {
      const parameters = { type: 'dict', title: command, properties: { text: { type: 'str' } } }
      return { type: 'function', function: { name, description: 'D.', parameters } }
    },
    remove: (name: string) => rmSync(join(files, `${name}.json`)),
    /** Reads the layer as a new process does. */
    async start({ program = 'this one', path: keptPath = path, bytesMax = 100_000 } = {}): Promise<Start> {
      rmSync(count, { force: true })
      const warnings: string[] = []
      const log = { warn: (message: string) => void warnings.push(message) }
      const keeper = new KeptAdmissions({ path: keptPath, program: () => program, log, bytesMax })
      const read = await new FileLayer(files, compilers, { kept: keeper }).read()
      await keeper.written()
      return { read, compiled: existsSync(count) ? readFileSync(count).length : 0, warnings }
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** Two good definitions, one that is refused, and a file that is no JSON. */
function someFiles() {
  const some = filesAndKept()
  some.put('a', some.tool('first'), some.tool('bad name'))
  some.put('b', some.tool('second'))
  writeFileSync(join(some.files, 'c.json'), '{')
  return some
}

test('a second start compiles nothing, and finds the same', async () => {
  using some = someFiles()
  const first = await some.start()
  expect(first).toMatchObject({ compiled: 2, warnings: [] })
  expect(first.read).toMatchObject({ definitions: [{ name: 'first' }, { name: 'second' }] })
  expect(first.read.skipped.map(({ source }) => source)).toEqual(['a.json', 'c.json'])
  expect(await some.start()).toEqual({ ...first, compiled: 0 })
})

test('what is kept is private and written whole: nothing else is left in the folder', async () => {
  using some = someFiles()
  writeFileSync(`${some.path}.new`, 'left by a start that was killed', { mode: 0o666 })
  await some.start()
  expect(readdirSync(some.data)).toEqual(['kept'])
  expect(statSync(some.path).mode & 0o777).toBe(0o600)
})

test('only what has changed is checked again, and what is gone is not kept', async () => {
  using some = someFiles()
  await some.start()
  some.put('b', some.tool('second'), some.tool('third'))
  some.put('d', some.tool('fourth'))
  expect(await some.start()).toMatchObject({ compiled: 3 })
  const before = statSync(some.path).size
  some.remove('b')
  expect((await some.start()).read.definitions.map(({ name }) => name)).toEqual(['first', 'fourth'])
  expect(statSync(some.path).size).toBeLessThan(before)
  some.put('b', some.tool('second'))
  expect(await some.start()).toMatchObject({ compiled: 1 })
})

test('nothing is written if nothing has changed', async () => {
  using some = someFiles()
  await some.start()
  const { ino } = statSync(some.path)
  await some.start()
  expect(statSync(some.path).ino).toBe(ino)
})

const damages: Readonly<Record<string, (path: string) => void>> = {
  missing: (path) => rmSync(path),
  empty: (path) => truncateSync(path),
  'cut in its first line': (path) => truncateSync(path, 20),
  'cut in the middle': (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  'cut by one byte': (path) => truncateSync(path, statSync(path).size - 1),
  'one letter wrong, and still JSON': (path) => {
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('D.', 'E.'))
  },
  'not UTF-8': (path) => writeFileSync(path, readFileSync(path).fill(0xff, 200, 210)),
  'of another kind': (path) => writeFileSync(path, '{"family":"test","tools":[]}\n'),
  'a pipe': (path) => {
    rmSync(path)
    spawnSync('mkfifo', [path])
  },
  'a row of zeros': (path) => writeFileSync(path, Buffer.alloc(1_000)),
}

test.each(Object.entries(damages))('kept data that is %s is ignored and rebuilt', async (_what, damage) => {
  using some = someFiles()
  const first = await some.start()
  damage(some.path)
  expect(await some.start()).toEqual(first)
  expect(await some.start()).toEqual({ ...first, compiled: 0 })
})

test('what another program has kept is ignored and rebuilt', async () => {
  using some = someFiles()
  const first = await some.start({ program: 'an older one' })
  expect(await some.start()).toEqual(first)
  expect(await some.start()).toMatchObject({ compiled: 0 })
  expect(await some.start({ program: 'an older one' })).toMatchObject({ compiled: 2 })
})

test('what could not be decided is tried again at the next start', async () => {
  using some = filesAndKept()
  some.put('a', some.tool('heavy', 'throw'))
  some.put('b', some.tool('light'))
  const first = await some.start()
  expect(first.read.skipped).toMatchObject([{ message: expect.stringContaining('could not be compiled') }])
  expect(readFileSync(some.path, 'utf8')).toContain('light')
  expect(readFileSync(some.path, 'utf8')).not.toContain('could not be compiled')
})

test('what is kept has a size, and what does not fit is checked at each start', async () => {
  using some = filesAndKept()
  const names = Array.from({ length: 10 }, (_, index) => `tool_${index}`)
  for (const name of names) some.put(name, some.tool(name))
  const bytesMax = 4_000
  await some.start({ bytesMax })
  expect(statSync(some.path).size).toBeLessThanOrEqual(bytesMax)
  const { compiled, read } = await some.start({ bytesMax })
  expect(compiled).toBeGreaterThan(0)
  expect(compiled).toBeLessThan(names.length)
  expect(read.definitions).toHaveLength(names.length)
  await some.start()
  expect(await some.start({ bytesMax })).toMatchObject({ compiled: names.length })
})

test('where nothing can be kept, the operator is told and the files are served', async () => {
  using some = someFiles()
  const { read, warnings } = await some.start({ path: join(some.data, 'gone', 'kept') })
  expect(read.definitions).toHaveLength(2)
  expect(warnings).toEqual(['the next start will check every definition file again'])
})

test('a link in place of it is replaced, and where it leads is not written', async () => {
  using some = someFiles()
  const elsewhere = join(some.data, 'elsewhere')
  writeFileSync(elsewhere, 'mine')
  symlinkSync(elsewhere, some.path)
  await some.start()
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine')
  expect(await some.start()).toMatchObject({ compiled: 0 })
})

type Kept = { definitions: Record<string, JsonValue>[]; skipped: JsonValue[] }

/** Changes what is kept, and makes the first line fit, as somebody would who can write the file and knows its form. */
function forge(path: string, change: (kept: Kept) => void): void {
  const [head = '', body = ''] = readFileSync(path, 'utf8').split('\n')
  const all = JSON.parse(body) as Record<string, Kept>
  for (const kept of Object.values(all)) if (kept.definitions.length > 0) change(kept)
  const text = JSON.stringify(all)
  const digest = createHash('sha256').update(text).digest('hex')
  writeFileSync(path, `${head.replace(/[0-9a-f]{64}$/, digest)}\n${text}`)
}

/** A change of the definition, with the digest of the changed one. */
function definition(change: (definition: JsonObject) => unknown): (kept: Kept) => void {
  return ({ definitions: [kept = {}] }) => {
    const changed = change(JSON.parse(kept['text'] as string) as JsonObject)
    kept['text'] = JSON.stringify(changed)
    kept['digest'] = definitionDigest({
      function: { parameters: {} },
      ...(changed as object),
    } as ToolDefinition)
  }
}

const withFunction = (more: JsonObject) =>
  definition(({ function: fn, ...rest }) => ({ ...rest, function: { ...(fn as JsonObject), ...more } }))
const deep = (levels: number): JsonObject => (levels === 0 ? {} : { not: deep(levels - 1) })

const forgeries: Readonly<Record<string, (kept: Kept) => void>> = {
  'a forbidden name': withFunction({ name: '__proto__' }),
  'no description': withFunction({ description: null }),
  'a deep schema': withFunction({ parameters: deep(2_000) }),
  'a large schema': withFunction({ parameters: { description: 'x'.repeat(40_000) } }),
  'a schema that refers to itself': withFunction({ parameters: { $ref: '#' } }),
  'a schema of another type': withFunction({ parameters: { type: 'array' } }),
  'deep annotations': definition((good) => ({ ...good, annotations: deep(2_000) })),
  'a runner without a kind': definition((good) => ({ ...good, runner: {} })),
  'tags that are no list': definition((good) => ({ ...good, tags: 7 })),
  'a definition that is a list': definition(() => []),
  'no JSON': ({ definitions: [kept = {}] }) => (kept['text'] = '{'),
  'another digest': ({ definitions: [kept = {}] }) => (kept['digest'] = `sha256:${'0'.repeat(64)}`),
  'no text': ({ definitions: [kept = {}] }) => delete kept['text'],
  'a skipped item that is none': ({ skipped }) => skipped.push(7),
}

test.each(Object.entries(forgeries))('a forged entry with %s is not believed', async (_what, change) => {
  using some = filesAndKept()
  some.put('a', some.tool('first'))
  const first = await some.start()
  forge(some.path, change)
  expect(await some.start()).toEqual(first)
  expect(await some.start()).toEqual({ ...first, compiled: 0 })
})

test('a forged entry that breaks no rule is believed: the file has the trust of its folder', async () => {
  using some = filesAndKept()
  some.put('a', some.tool('first'))
  await some.start()
  forge(some.path, withFunction({ description: 'Forged.' }))
  const { read, compiled } = await some.start()
  expect([compiled, read.definitions[0]?.text]).toEqual([0, expect.stringContaining('Forged.')])
})
