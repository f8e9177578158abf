import { afterAll, expect, test } from '@jest/globals'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { LayerRead, LayerSource } from '../../../../functions/src/catalog/views/layer-source.ts'
import { FolderLayer } from '../../../../functions/src/features/folder/folder-layer.ts'
import { FolderLayers } from '../../../../functions/src/features/folder/folder-layers.ts'
import { ModuleFolder } from '../../../../functions/src/features/folder/module-folder.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { put, tool } from '../../../support/definition-changes.ts'
import { sha256Of } from '../../../support/module-changes.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

/** A busy machine takes its time for a thousand files. */

const compilers = new SchemaCompilers()
afterAll(() => compilers.close())
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A runner that counts what it is asked to look at, and says of a source with `broken` in it that it is. */
class CountingRunner {
  readonly asked: string[] = []
  readonly runner: Runner = {
    ...readingRunner(),
    check: ({ name, ...module }) => {
      this.asked.push(name)
      const text = textIn(module)
      const broken = {
        code: 'MODULE_BROKEN',
        kind: 'syntax_error',
        message: `${name}.py is broken.`,
      } as const
      return Promise.resolve({ ...checkedModule(text), faults: text.includes('broken') ? [broken] : [] })
    },
  }
}

/** A folder that nobody tells of, so that each look of a test is one that it asks for. */
function watched(
  path: string,
  { runner }: Pick<CountingRunner, 'runner'>,
  changed = () => undefined,
): ModuleFolder {
  return new ModuleFolder({
    path,
    runner,
    compiler: compilers.own,
    log,
    changed,
    patience: { quietMs: 1_000_000, busyMs: 1_000_000 },
  })
}

/** A folder that is watched as in the service, but for what is given. */
function live(
  path: string,
  { runner }: Pick<CountingRunner, 'runner'>,
  patience: ConstructorParameters<typeof ModuleFolder>[0]['patience'] = {},
): ModuleFolder {
  return new ModuleFolder({ path, runner, compiler: compilers.own, log, changed: () => undefined, patience })
}

const NO_FILES: LayerSource = {
  read: () => Promise.resolve({ revision: 'none', whole: true, definitions: [], deleted: [], skipped: [] }),
}

const moduleOf = (name: string, more = ''): string => `# "${name}:a" ${more}\n`

test('a thousand files settle on what is there, each of them checked once', async () => {
  using folder = temporaryFolder()
  const names = Array.from({ length: 1_000 }, (_, number) => `m${String(number).padStart(4, '0')}`)
  for (const name of names) writeFileSync(join(folder.path, `${name}.py`), moduleOf(name))
  const counting = new CountingRunner()
  const modules = watched(folder.path, counting)
  const layer = new FolderLayer(NO_FILES, modules)
  await modules.refresh(60_000)
  await modules.refresh(60_000)
  expect(counting.asked.toSorted()).toEqual(names)
  const { definitions } = await layer.read()
  expect(definitions.map(({ name }) => name)).toEqual(names.map((name) => `${name}:a`))
  modules.close()
})

test('what a file held is forgotten when other content is loaded, and when the file goes', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'm.py')
  const told: unknown[] = []
  const forget: Runner['forget'] = (module) => Promise.resolve(void told.push(module))
  const modules = watched(folder.path, { runner: { ...new CountingRunner().runner, forget } })
  const save = async (text: string): Promise<void> => {
    writeFileSync(path, text)
    await modules.refresh(60_000)
  }
  await save(moduleOf('m'))
  await save(moduleOf('m', 'broken'))
  expect(told).toEqual([])
  await save(moduleOf('m', 'second'))
  expect(told).toEqual([{ module: 'm', sha256: sha256Of(moduleOf('m')) }])
  rmSync(path)
  await modules.refresh(60_000)
  expect(told.slice(1)).toEqual([{ module: 'm', sha256: sha256Of(moduleOf('m', 'second')) }])
  modules.close()
})

test('whatever happens in a folder while it is watched, it settles on what is there', async () => {
  using outer = temporaryFolder()
  const path = join(outer.path, 'tools')
  mkdirSync(path)
  const counting = new CountingRunner()
  const modules = live(path, counting)
  await modules.start()
  const names = ['a', 'b', 'c', 'd', 'e']
  const expected = new Map<string, string>()
  let seed = 7
  const pick = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let step = 0; step < 400; step += 1) {
    const name = names[pick(names.length)] ?? ''
    const file = join(path, `${name}.py`)
    const source = moduleOf(name, `step ${step}`)
    const what = pick(20)
    if (what === 0) {
      rmSync(path, { recursive: true })
      mkdirSync(path)
      expected.clear()
    } else if (what < 4) {
      rmSync(file, { force: true })
      expected.delete(name)
    } else {
      if (what < 10) writeFileSync(file, source)
      else {
        writeFileSync(join(path, `.${name}.swp`), source)
        renameSync(join(path, `.${name}.swp`), file)
      }
      expected.set(name, source)
    }
    if (pick(10) === 0) await pause(pick(60))
  }
  const served = () => [...modules.files.values()].map(({ loaded }) => [loaded?.name, loaded?.source])
  const wanted = JSON.stringify([...expected].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  await until(
    () => Promise.resolve(JSON.stringify(served())),
    (text) => text === wanted,
  )
  expect(modules.checking).toEqual([])
  modules.close()
})

test('whatever happens to folders of modules while they are watched, they settle on what is there', async () => {
  using outer = temporaryFolder()
  const path = join(outer.path, 'tools')
  mkdirSync(path)
  // Without events a folder would not be read again within the time of this test.
  const modules = live(path, new CountingRunner(), { pollMs: 1_000_000 })
  await modules.start()
  const names = ['a', 'b', 'c']
  const inner = ['__init__.py', 'more.py', 'sub/deep/x.py']
  let seed = 11
  const pick = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let step = 0; step < 300; step += 1) {
    const name = names[pick(names.length)] ?? ''
    const folder = join(path, name)
    const file = join(folder, inner[pick(inner.length)] ?? '')
    const source = moduleOf(name, `step ${step}`)
    const what = pick(20)
    if (what === 0) rmSync(folder, { recursive: true, force: true })
    else if (what === 1) renameSync(path, `${path}-away`)
    else if (what < 4) rmSync(file, { force: true })
    else if (what < 6) rmSync(join(folder, 'sub'), { recursive: true, force: true })
    else if (what < 8) writeFileSync(`${folder}.py`, source)
    else if (what < 10) rmSync(`${folder}.py`, { force: true })
    else if (what < 14) {
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, source)
    } else if (existsSync(file)) {
      writeFileSync(join(path, '.swp'), source)
      renameSync(join(path, '.swp'), file)
    }
    if (what === 1) renameSync(`${path}-away`, path)
    if (pick(10) === 0) await pause(pick(60))
  }
  for (const name of names) {
    mkdirSync(join(path, name, 'sub/deep'), { recursive: true })
    await pause(pick(60))
    for (const file of inner) writeFileSync(join(path, name, file), moduleOf(name, `last ${file}`))
    rmSync(join(path, `${name}.py`), { force: true })
  }
  const wanted = names.map((name) => {
    const texts = Object.fromEntries(inner.map((file) => [file, moduleOf(name, `last ${file}`)]))
    return [`${name}/__init__.py`, sha256Of(texts)]
  })
  await until(
    () => Promise.resolve([...modules.files.values()].map(({ file, loaded }) => [file, loaded?.sha256])),
    (served) => JSON.stringify(served) === JSON.stringify(wanted),
  )
  modules.close()
})

test('a change deep in a module, and an __init__.py in a folder that had none, are seen by their events', async () => {
  using folder = temporaryFolder()
  const at = (file: string): string => join(folder.path, file)
  mkdirSync(at('m/sub/deep'), { recursive: true })
  const modules = live(folder.path, new CountingRunner(), { pollMs: 1_000_000 })
  await modules.start()
  const loaded = (files: Readonly<Record<string, string>>) =>
    until(
      () => Promise.resolve([...modules.files.values()].map((one) => one.loaded?.sha256).join()),
      (digests) => digests === sha256Of(files),
    )
  writeFileSync(at('m/__init__.py'), moduleOf('m'))
  await loaded({ '__init__.py': moduleOf('m') })
  for (const text of ['one', 'two']) {
    writeFileSync(at('m/sub/deep/x.txt'), text)
    await loaded({ '__init__.py': moduleOf('m'), 'sub/deep/x.txt': text })
  }
  renameSync(at('m/__init__.py'), at('m/__init__.py~'))
  await until(
    () => Promise.resolve(modules.files.size),
    (size) => size === 0,
  )
  modules.close()
})

test('an __init__.py that is replaced again and again, atomically and not, never loses its last content', async () => {
  using folder = temporaryFolder()
  const at = (file: string): string => join(folder.path, file)
  mkdirSync(at('busy'))
  writeFileSync(at('busy/__init__.py'), moduleOf('busy'))
  const modules = live(folder.path, new CountingRunner())
  await modules.start()
  for (let version = 1; version <= 50; version += 1) {
    writeFileSync(at('busy/words.py'), `WORD = "${version}"\n`)
    if (version % 2 === 0) rmSync(at('busy/__init__.py'))
    else renameSync(at('busy/__init__.py'), at('busy/__init__.py~'))
    writeFileSync(at('busy/__init__.py'), moduleOf('busy'))
  }
  const last = sha256Of({ '__init__.py': moduleOf('busy'), 'words.py': 'WORD = "50"\n' })
  await until(
    () => Promise.resolve([...modules.files.values()].map(({ loaded }) => loaded?.sha256)),
    (loaded) => loaded.join() === last,
  )
  modules.close()
})

test('a file that is saved a hundred times in a second settles on what it was last, and is left alone then', async () => {
  using folder = temporaryFolder()
  const counting = new CountingRunner()
  const modules = live(folder.path, counting)
  await modules.start()
  const versions = 100
  // A busy machine makes some pauses so long that what was saved before counts as done.
  let longPauses = 0
  for (let version = 1; version <= versions; version += 1) {
    writeFileSync(join(folder.path, 'busy.py'), moduleOf('busy', `version ${version}`))
    const savedMs = performance.now()
    await pause(8)
    if (performance.now() - savedMs > 16) longPauses += 1
  }
  await until(
    () => Promise.resolve(modules.files.get('busy.py')?.loaded?.source),
    (source) => source === moduleOf('busy', `version ${versions}`),
  )
  const settled = counting.asked.length
  expect(settled).toBeLessThan(versions / 4 + longPauses)
  await modules.refresh(60_000)
  expect(counting.asked).toHaveLength(settled)
  modules.close()
})

test('a folder that is deleted takes its tools with it; made again, they are back and changes are seen', async () => {
  using outer = temporaryFolder()
  const path = join(outer.path, 'tools')
  mkdirSync(path)
  writeFileSync(join(path, 'notes.py'), moduleOf('notes', 'one'))
  writeFileSync(join(path, 'wrong.py'), 'broken')
  const modules = live(path, new CountingRunner())
  const layer = new FolderLayer(NO_FILES, modules)
  const serves = (source: string) =>
    until(
      () => Promise.resolve(modules.files.get('notes.py')?.loaded?.source),
      (text) => text === source,
    )
  await modules.start()
  await serves(moduleOf('notes', 'one'))
  renameSync(path, `${path}-away`)
  await until(
    () => Promise.resolve(modules.files.size),
    (size) => size === 0,
  )
  expect(modules.state).toEqual({ status: 'missing', reason: expect.stringContaining('no such folder') })
  expect(await layer.read()).toMatchObject({ definitions: [], skipped: [] })
  mkdirSync(path)
  for (const source of [moduleOf('notes', 'again'), moduleOf('notes', 'and again')]) {
    writeFileSync(join(path, 'notes.py'), source)
    await serves(source)
  }
  rmSync(path, { recursive: true })
  renameSync(`${path}-away`, path)
  await serves(moduleOf('notes', 'one'))
  expect(modules.state).toEqual({ status: 'watched' })
  expect((await layer.read()).definitions).toMatchObject([{ name: 'notes:a' }])
  modules.close()
})

test('a file that becomes a folder, and a folder that becomes a file, never lose their tools', async () => {
  using folder = temporaryFolder()
  const at = (file: string): string => join(folder.path, file)
  const told: unknown[] = []
  const forget: Runner['forget'] = (module) => Promise.resolve(void told.push(module))
  const modules = watched(folder.path, { runner: { ...new CountingRunner().runner, forget } })
  const layer = new FolderLayer(NO_FILES, modules)
  const places = async () => (await layer.modules()).tools.map(({ name, file }) => `${name} in ${file}`)
  const [first, second] = [moduleOf('m', 'first'), moduleOf('m', 'second')]
  writeFileSync(at('m.py'), first)
  await modules.refresh(60_000)
  mkdirSync(at('m'))
  renameSync(at('m.py'), at('m/__init__.py'))
  await modules.start()
  expect(await places()).toEqual(['m:a in m/__init__.py'])
  await modules.refresh(60_000)
  expect(told).toEqual([{ module: 'm', sha256: sha256Of(first) }])
  writeFileSync(at('m.py'), 'broken')
  rmSync(at('m'), { recursive: true })
  await modules.refresh(60_000)
  expect(await places()).toEqual(['m:a in m.py'])
  expect((await layer.modules()).skipped).toMatchObject([
    { file: 'm.py', serving: sha256Of({ '__init__.py': first }) },
  ])
  writeFileSync(at('m.py'), second)
  await modules.refresh(60_000)
  expect(told.slice(1)).toEqual([{ module: 'm', sha256: sha256Of({ '__init__.py': first }) }])
  modules.close()
})

test('beside a file of the same name a folder waits for its turn', async () => {
  using folder = temporaryFolder()
  const at = (file: string): string => join(folder.path, file)
  const modules = watched(folder.path, new CountingRunner())
  const layer = new FolderLayer(NO_FILES, modules)
  mkdirSync(at('m'))
  writeFileSync(at('m/__init__.py'), moduleOf('m', 'folder'))
  writeFileSync(at('m.py'), moduleOf('m', 'file'))
  await modules.refresh(60_000)
  const { tools, skipped } = await layer.modules()
  expect(tools).toMatchObject([{ name: 'm:a', file: 'm.py' }])
  expect(skipped).toMatchObject([
    {
      file: 'm/__init__.py',
      detail: { kind: 'name_taken', message: expect.stringContaining("'m:a' is taken by m.py, line 1") },
    },
  ])
  rmSync(at('m.py'))
  await modules.refresh(60_000)
  expect(await layer.modules()).toMatchObject({
    tools: [{ name: 'm:a', file: 'm/__init__.py' }],
    skipped: [],
  })
  modules.close()
})

test('only content that has not been looked at is checked: not what is touched, nor what is put back', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'notes.py')
  const counting = new CountingRunner()
  const modules = watched(folder.path, counting)
  const steps: readonly (readonly [source: string, checks: number])[] = [
    [moduleOf('notes'), 1],
    [moduleOf('notes'), 1],
    ['broken', 2],
    [moduleOf('notes'), 2],
    [moduleOf('notes', 'changed'), 3],
  ]
  for (const [source, checks] of steps) {
    writeFileSync(file, source)
    await modules.refresh(60_000)
    expect([source, counting.asked.length]).toEqual([source, checks])
  }
  expect([...modules.files.values()]).toMatchObject([{ file: 'notes.py', faults: [] }])
  modules.close()
})

test('a refused file is checked anew by a refresh, for what it lacked may be there by now', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), 'broken')
  const counting = new CountingRunner()
  const modules = watched(folder.path, counting)
  await modules.refresh(60_000)
  await modules.refresh(60_000)
  expect(counting.asked).toEqual(['notes', 'notes'])
  modules.close()
})

test('the old version serves beside the fault, until the file is gone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'notes.py')
  const modules = watched(folder.path, new CountingRunner())
  const layer = new FolderLayer(NO_FILES, modules)
  writeFileSync(file, moduleOf('notes'))
  await modules.refresh(60_000)
  const good = await layer.read()
  writeFileSync(file, 'broken')
  await modules.refresh(60_000)
  const broken = await layer.read(good.revision)
  expect(broken).toMatchObject({ definitions: good.definitions, skipped: [{ source: 'notes.py' }] })
  expect(broken.revision).not.toBe(good.revision)
  rmSync(file)
  await modules.refresh(60_000)
  expect(await layer.read()).toMatchObject({ definitions: [], skipped: [] })
  modules.close()
})

test('a file that changes while it is checked is checked once more, and never serves what it was in between', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'notes.py')
  const first = Promise.withResolvers<void>()
  const counting = new CountingRunner()
  const { check } = counting.runner
  const slow: Runner = {
    ...counting.runner,
    check: async (module) => {
      const checked = await check(module)
      if (counting.asked.length === 1) await first.promise
      return checked
    },
  }
  let changes = 0
  const modules = new ModuleFolder({
    path: folder.path,
    runner: slow,
    compiler: compilers.own,
    log,
    changed: () => (changes += 1),
  })
  writeFileSync(file, moduleOf('notes', 'one'))
  await modules.start()
  writeFileSync(file, moduleOf('notes', 'two'))
  await modules.refresh(0)
  expect(counting.asked).toEqual(['notes'])
  first.resolve()
  await modules.refresh(60_000)
  expect(counting.asked).toEqual(['notes', 'notes'])
  const [loaded] = [...modules.files.values()].map((one) => one.loaded?.source)
  expect(loaded).toBe(moduleOf('notes', 'two'))
  expect(changes).toBeGreaterThan(0)
  modules.close()
})

test('a file that is written twice in one tick of the clock is seen as it was last', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'notes.py')
  const modules = watched(folder.path, new CountingRunner())
  for (let round = 100; round < 130; round += 1) {
    writeFileSync(file, moduleOf('notes', `${round} first.`))
    await modules.start()
    writeFileSync(file, moduleOf('notes', `${round} second`))
    await modules.start()
    const { sha256 } = modules.files.get('notes.py') ?? {}
    await modules.refresh(60_000)
    expect(modules.files.get('notes.py')?.sha256).toBe(sha256)
    expect(modules.files.get('notes.py')?.loaded?.source).toContain(`${round} second`)
  }
  modules.close()
})

test('a folder that is replaced in one step loses nothing', async () => {
  using outer = temporaryFolder()
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes'))
  const modules = watched(folder.path, new CountingRunner())
  await modules.refresh(60_000)
  const away = join(outer.path, 'away')
  renameSync(folder.path, away)
  await modules.start()
  expect(modules.state.status).toBe('missing')
  expect(modules.files.size).toBe(1)
  renameSync(away, folder.path)
  await modules.start()
  expect(modules.state).toEqual({ status: 'watched' })
  expect(modules.files.get('notes.py')?.loaded?.name).toBe('notes')
  modules.close()
})

function noWatch(): never {
  throw new Error('ENOSPC')
}

test('where the system gives no watch it is told, and the files are loaded all the same', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes'))
  const { runner } = new CountingRunner()
  const modules = new ModuleFolder({
    path: folder.path,
    runner,
    compiler: compilers.own,
    log,
    changed: () => undefined,
    watchPath: noWatch,
  })
  await modules.refresh(60_000)
  expect(modules.state).toEqual({
    status: 'polled',
    reason: 'The system has no watch left for it, so it is looked at twice a second.',
  })
  expect(modules.files.get('notes.py')?.loaded?.name).toBe('notes')
  modules.close()
})

test('the same files have the same revision; one read since it brings nothing', async () => {
  using one = temporaryFolder()
  using other = temporaryFolder()
  const reads: LayerRead[] = []
  for (const { path } of [one, other]) {
    for (const name of ['b', 'a', 'broken']) writeFileSync(join(path, `${name}.py`), moduleOf(name))
    const modules = watched(path, new CountingRunner())
    const layer = new FolderLayer(NO_FILES, modules)
    await modules.refresh(60_000)
    const read = await layer.read()
    expect(await layer.read(read.revision)).toMatchObject({
      whole: false,
      definitions: [],
      revision: read.revision,
    })
    reads.push(read)
    modules.close()
  }
  expect(reads[1]).toEqual(reads[0])
})

test('the source of what is listed is at hand, that of the listing before too, and no older one', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'notes.py')
  const modules = watched(folder.path, new CountingRunner())
  const layer = new FolderLayer(NO_FILES, modules)
  const seen: string[] = []
  for (const text of ['one', 'two', 'three']) {
    writeFileSync(file, moduleOf('notes', text))
    await modules.refresh(60_000)
    await layer.read()
    seen.push(modules.files.get('notes.py')?.sha256 ?? '')
  }
  expect(seen.map((sha256) => layer.source(sha256))).toEqual([
    undefined,
    { source: moduleOf('notes', 'two') },
    { source: moduleOf('notes', 'three') },
  ])
  modules.close()
})

test('definitions files that can not be read make the layer’s read fail, so that its last state goes on; the modules are told all the same', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes'))
  const modules = watched(folder.path, new CountingRunner())
  await modules.refresh(60_000)
  const lost = new FolderLayer({ read: () => Promise.reject(new Error('lost')) }, modules)
  await expect(lost.read()).rejects.toThrow('lost')
  expect(await lost.modules()).toMatchObject({ tools: [{ name: 'notes:a' }], skipped: [] })
  modules.close()
})

test('a definition of the files comes first, and both are in the layer', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), '# "notes:a" "notes:b"\n')
  const definitions = [{ ...put(tool('notes:a')), revision: 'f1', source: 'a.json#/tools/0' }]
  const files: LayerSource = {
    read: (since) =>
      Promise.resolve({
        revision: 'f1',
        whole: since !== 'f1',
        definitions: since === 'f1' ? [] : definitions,
        deleted: [],
        skipped: [],
      }),
  }
  const modules = watched(folder.path, new CountingRunner())
  const layer = new FolderLayer(files, modules)
  await modules.refresh(60_000)
  await until(
    () => layer.read(),
    ({ definitions: all }) => all.length === 2,
  )
  expect(await layer.read()).toMatchObject({
    definitions: [
      { name: 'notes:a', source: 'a.json#/tools/0' },
      { name: 'notes:b', source: 'notes.py, line 2' },
    ],
    skipped: [{ name: 'notes:a', message: expect.stringContaining('is taken by a.json#/tools/0') }],
  })
  modules.close()
})

test('a name that a file of another folder has is reported with that folder, because its file can have the same name', async () => {
  using first = temporaryFolder()
  using second = temporaryFolder()
  const runner = new CountingRunner()
  const folders = [first, second].map(({ path }) => {
    writeFileSync(join(path, 'notes.py'), moduleOf('notes'))
    return watched(path, runner)
  })
  const layers = new FolderLayers(NO_FILES, folders)
  await Promise.all(folders.map((folder) => folder.refresh(60_000)))
  const { skipped } = await until(
    () => layers.modules(),
    ({ skipped: left }) => left.length === 1,
  )
  expect(skipped[0]?.detail['message']).toContain(`is taken by notes.py, line 1, in ${first.path}. `)
  folders.forEach((folder) => folder.close())
})
