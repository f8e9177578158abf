import { afterAll, expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorAnswer } from '../support/error-answer.ts'
import { folderBody, folderHas, folderWhen, refreshed } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { fixtureModule, moduleOf, sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { listedNames, put, tool } from '../support/tool.ts'
import { UNPRIVILEGED } from '../support/unprivileged.ts'
import { until } from '../support/until.ts'

const outer = temporaryFolder()
const path = join(outer.path, 'tools')
mkdirSync(path)
afterAll(() => outer[Symbol.dispose]())
const at = (file: string): string => join(path, file)

const definitions = join(outer.path, 'defs')
mkdirSync(definitions)
writeFileSync(
  join(definitions, 'a.json'),
  JSON.stringify({ family: 'a', tools: [tool('first'), tool('owned:x')] }),
)

writeFileSync(at('weather.py'), fixtureModule('weather'))
writeFileSync(at('owned.py'), moduleOf('owned', 'x', 'y'))
const started = sharedServerWithRunner({ definitions, env: { TOOLRACK_TOOLS_DIR: path } })

/** A module with one tool that answers this. */
function saying(name: string, answer: string | number): string {
  return `def say() -> str:\n    """Says it."""\n    return "${answer}"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}

async function answerOf(server: Server, name: string): Promise<string> {
  const [, result] = await invoked(server, `${name}:say`)
  return result.textResultForLlm
}

const explain = async (server: Server, name: string) =>
  (await server.fetch(`/workflows/tools/explain?name=${name}`)).json()

withPython(
  'what lies in the folder at the start is listed with its source and called by name and alias',
  async () => {
    const server = await started()
    const { folder, status, reason, tools } = await folderWhen(server, (body) =>
      body.tools.some(({ file }) => file === 'weather.py'),
    )
    expect({ folder, status, reason }).toEqual({ folder: path, status: 'watched', reason: null })
    const found = tools.find((one) => one.name === 'weather:get_report')
    const name = 'weather:get_report'
    expect(found).toMatchObject({
      file: 'weather.py',
      module: 'weather',
      category: 'weather',
      line: expect.any(Number),
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      loadedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(await listedNames(server, 'category=weather')).toContain(name)
    for (const called of [name, 'weather__get_report']) {
      const one = await server.fetch(`/api/tools/${encodeURIComponent(called)}`)
      expect(await one.json()).toMatchObject({
        ...found,
        definition: { function: { name }, runner: { kind: 'python', sha256: found?.sha256 } },
        report: { name, accepted: true },
      })
    }
    expect(await explain(server, name)).toMatchObject({
      winner: 'file',
      callable: 'service',
      layers: [{}, {}, { status: 'found', source: 'weather.py, line 16' }],
    })
  },
)

withPython(
  'a file that is saved, changed, renamed and removed comes, changes and goes with its tools',
  async () => {
    const server = await started()
    writeFileSync(at('life.py'), saying('life', 'one'))
    await folderHas(server, ['life:say'], 'life.py')
    expect(await listedNames(server, 'names=life:say')).toEqual(['life:say'])
    expect(await answerOf(server, 'life')).toBe('one')
    writeFileSync(at('life.py'), saying('life', 'two'))
    await until(
      () => answerOf(server, 'life'),
      (text) => text === 'two',
    )
    writeFileSync(at('.life.py.swp'), saying('life', 'three'))
    renameSync(at('.life.py.swp'), at('life.py'))
    await until(
      () => answerOf(server, 'life'),
      (text) => text === 'three',
    )
    renameSync(at('life.py'), at('lively.py'))
    await folderHas(server, [], 'life.py')
    expect(await answerOf(server, 'life')).toBe('Unsupported tool: life:say')
    const { skipped } = await folderWhen(server, (body) =>
      body.skipped.some(({ file }) => file === 'lively.py'),
    )
    expect(skipped.find(({ file }) => file === 'lively.py')).toMatchObject({
      kind: 'name_prefix',
      name: 'life:say',
    })
    rmSync(at('lively.py'))
    await folderWhen(server, (body) => !body.skipped.some(({ file }) => file === 'lively.py'))
  },
)

withPython('private, hidden and backup files and other kinds are neither loaded nor told of', async () => {
  const server = await started()
  const ignored = [
    '_private.py',
    '.hidden.py',
    '.quiet.py.swp',
    'quiet.py~',
    '#quiet.py#',
    '4913',
    'quiet.pyc',
    'quiet.txt',
  ]
  for (const file of ignored) writeFileSync(at(file), saying('quiet', 'never'))
  mkdirSync(at('__pycache__'))
  symlinkSync('ada@host.1:2', at('.#quiet.py'))
  const body = JSON.stringify(await refreshed(server))
  for (const file of [...ignored, 'quiet', '__pycache__']) expect(body).not.toContain(file)
  expect(await listedNames(server, 'category=quiet')).toEqual([])
})

withPython('what is no file, leads out of the folder or can not be read is told with its cure', async () => {
  const server = await started()
  mkdirSync(at('a_folder.py'))
  spawnSync('mkfifo', [at('a_pipe.py')])
  symlinkSync(at('nowhere'), at('dangling.py'))
  writeFileSync(join(outer.path, 'outside.py'), saying('outside', 'never'))
  symlinkSync(join(outer.path, 'outside.py'), at('outside.py'))
  writeFileSync(at('huge.py'), '')
  truncateSync(at('huge.py'), 50 * 1024 * 1024)
  mkdirSync(at('inner'))
  writeFileSync(at('inner/linked.py'), saying('linked', 'by a link'))
  symlinkSync('inner/linked.py', at('linked.py'))
  const { skipped } = await refreshed(server)
  const told = (file: string) =>
    skipped.filter((skip) => skip.file === file).map(({ kind, message }) => [kind, message])
  expect(told('a_folder.py')).toEqual([['not_a_file', 'a_folder.py: this is no file. Give it another name.']])
  expect(told('a_pipe.py')).toEqual([['not_a_file', 'a_pipe.py: this is no file. Give it another name.']])
  expect(told('dangling.py')).toEqual([
    ['file_unreadable', 'dangling.py: the file is a link to nothing. Remove it, or mend the link.'],
  ])
  expect(told('outside.py')).toEqual([
    ['file_outside', 'outside.py: the file is a link out of the folder. Copy it into the folder.'],
  ])
  expect(told('huge.py')).toEqual([
    ['source_too_large', 'huge.py: the file is 52,428,800 bytes; a module may have 262,144. Split it.'],
  ])
  expect(await answerOf(server, 'linked')).toBe('by a link')
  expect(JSON.stringify(skipped)).not.toContain(outer.path)
  for (const file of ['a_folder.py', 'a_pipe.py', 'dangling.py', 'outside.py', 'huge.py'])
    rmSync(at(file), { recursive: true })
})

withPython('a name that a definitions file has stays there, and the module is told whose it is', async () => {
  const server = await started()
  const { skipped } = await folderHas(server, ['owned:y'], 'owned.py')
  expect(skipped.filter(({ file }) => file === 'owned.py')).toMatchObject([
    {
      reason: 'NAME_TAKEN',
      kind: 'name_taken',
      name: 'owned:x',
      line: expect.any(Number),
      message: expect.stringMatching(
        /^owned\.py, line \d+: the name 'owned:x' is taken by a\.json#\/tools\/1\. .*rename/,
      ),
    },
  ])
  const missing = await server.fetch('/api/tools/owned:x')
  expect(await errorAnswer(missing)).toMatchObject({
    httpStatus: 404,
    message: expect.stringContaining('is taken by a.json#/tools/1'),
    details: [{ reason: 'NAME_TAKEN', file: 'owned.py' }],
  })
  expect(await explain(server, 'owned:x')).toMatchObject({ winner: 'file', callable: 'client' })
})

withPython('one bad spec is told and its siblings load', async () => {
  const server = await started()
  const source = moduleOf('mixed', 'good').replace(']\n', '    {"name": "mixed:bad"},\n]\n')
  writeFileSync(at('mixed.py'), source)
  const { skipped } = await folderHas(server, ['mixed:good'], 'mixed.py')
  expect(skipped.find(({ file }) => file === 'mixed.py')).toMatchObject({
    kind: 'handler_missing',
    name: 'mixed:bad',
    line: expect.any(Number),
  })
})

withPython(
  'broken, the old version is called and the fault is told with its line; mended, it is back',
  async () => {
    const server = await started()
    writeFileSync(at('mending.py'), saying('mending', 'old'))
    const { tools } = await folderHas(server, ['mending:say'], 'mending.py')
    writeFileSync(at('mending.py'), saying('mending', 'new').replace('()', '('))
    const { skipped } = await folderWhen(server, (body) =>
      body.skipped.some(({ file }) => file === 'mending.py'),
    )
    expect(skipped.find(({ file }) => file === 'mending.py')).toMatchObject({
      reason: 'MODULE_BROKEN',
      kind: 'syntax_error',
      line: expect.any(Number),
      serving: tools.find(({ file }) => file === 'mending.py')?.sha256,
    })
    expect(await answerOf(server, 'mending')).toBe('old')
    const health = (await (await server.fetch('/health')).json()) as {
      layers: { file: { skipped: unknown } }
    }
    expect(health.layers.file.skipped).toContainEqual(expect.objectContaining({ source: 'mending.py' }))
    writeFileSync(at('mending.py'), saying('mending', 'new'))
    await until(
      () => answerOf(server, 'mending'),
      (text) => text === 'new',
    )
    expect((await folderBody(server)).skipped.filter(({ file }) => file === 'mending.py')).toEqual([])
  },
)

withPython(
  'a definition and a module of a layer above stand in front of the folder’s, and are told so',
  async () => {
    const server = await started()
    writeFileSync(at('shade.py'), moduleOf('shade', 'a', 'b'))
    const { tools } = await folderHas(server, ['shade:a', 'shade:b'], 'shade.py')
    const digestOf = (name: string): unknown => tools.find((one) => one.name === name)?.['digest']
    const written = (await (await put(server, 'shade:b', tool('shade:b'))).json()) as object
    expect(written).toMatchObject({
      outcome: 'created',
      shadows: [{ layer: 'file', digest: digestOf('shade:b') }],
    })
    const above = await uploaded(server, 'shade', moduleOf('shade', 'a'), { layer: 'global' })
    expect(above.shadows).toEqual([{ name: 'shade:a', layer: 'file', digest: digestOf('shade:a') }])
    expect(await explain(server, 'shade:a')).toMatchObject({ winner: 'global', shadowed: ['file'] })
    expect(await folderBody(server)).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: 'shade:a' })]),
    })
  },
)

withPython(
  'a file that is saved a hundred times in a second settles on what it was last, and is left alone then',
  async () => {
    const server = await started()
    const versions = 100
    const loads = (): number =>
      server.log.split('\n').filter((line) => line.includes('"file":"busy.py"')).length
    // A busy machine makes some pauses so long that what was saved before counts as done.
    let longPauses = 0
    for (let version = 1; version <= versions; version += 1) {
      writeFileSync(at('busy.py'), saying('busy', version))
      const savedMs = performance.now()
      await pause(8)
      if (performance.now() - savedMs > 16) longPauses += 1
    }
    await until(
      () => answerOf(server, 'busy'),
      (text) => text === String(versions),
    )
    const settled = loads()
    expect(settled).toBeLessThan(versions / 4 + longPauses)
    await refreshed(server)
    expect(loads()).toBe(settled)
  },
)

withPython(
  'a refresh waits until all is checked, tells what has changed, and checks nothing twice',
  async () => {
    const server = await started()
    writeFileSync(at('changing.py'), moduleOf('changing', 'a'))
    await folderHas(server, ['changing:a'], 'changing.py')
    rmSync(at('shade.py'), { force: true })
    writeFileSync(at('changing.py'), moduleOf('changing', 'a', 'b'))
    const body = await refreshed(server)
    expect(body.checking).toEqual([])
    const { added, changed } = body.tools
    // The watch may have been quicker than the request.
    expect([[], ['changing:b']]).toContainEqual(added)
    expect([[], ['changing:a']]).toContainEqual(changed)
    expect(await listedNames(server, 'category=changing')).toEqual(['changing:a', 'changing:b'])
    const again = await refreshed(server)
    expect({ ...again.tools, unchanged: [] }).toEqual({ added: [], changed: [], removed: [], unchanged: [] })
    expect(again.tools.unchanged).toEqual(expect.arrayContaining(['changing:a', 'changing:b']))
  },
)

testWhere(process.getuid?.() !== 0 || UNPRIVILEGED !== undefined, 'setpriv is missing.')(
  'a file that the service may not read is told so, with the cure',
  async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'locked.py'), saying('locked', 'once'))
    chmodSync(join(folder.path, 'locked.py'), 0)
    await using server = await Server.start({
      through: UNPRIVILEGED ?? [],
      env: { TOOLRACK_TOOLS_DIR: folder.path },
    })
    const { skipped } = await folderWhen(server, (body) => body.skipped.length > 0)
    expect(skipped).toEqual([
      {
        file: 'locked.py',
        reason: 'MODULE_INVALID',
        kind: 'file_unreadable',
        message: 'locked.py: the file cannot be read (permission denied). Let the service read it.',
        serving: null,
      },
    ])
  },
)

withPython(
  'a folder that is deleted takes its tools with it; made again, they are back and changes are seen',
  async () => {
    const server = await started()
    const away = `${path}-away`
    const before = (await refreshed(server)).tools.unchanged
    renameSync(path, away)
    const gone = await folderHas(server, [])
    expect(gone).toMatchObject({
      status: 'missing',
      skipped: [],
      reason: expect.stringContaining('no such folder'),
    })
    expect(await listedNames(server, 'names=first,weather:nothing')).toEqual(['first'])
    mkdirSync(path)
    for (const file of ['weather.py', 'life.py'])
      writeFileSync(at(file), file === 'life.py' ? saying('life', 'again') : readFileSync(join(away, file)))
    await until(
      () => answerOf(server, 'life'),
      (text) => text === 'again',
    )
    writeFileSync(at('life.py'), saying('life', 'and again'))
    await until(
      () => answerOf(server, 'life'),
      (text) => text === 'and again',
    )
    rmSync(path, { recursive: true })
    renameSync(away, path)
    await folderHas(server, before)
    expect((await folderBody(server)).status).toBe('watched')
  },
)
