import { afterAll, expect } from '@jest/globals'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderBody, folderHas, folderWhen } from '../support/folder.ts'
import type { FolderBody, FolderSkip } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { sha256Of } from '../support/module-changes.ts'
import { fixtureModule, moduleOf, sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames } from '../support/tool.ts'
import { until } from '../support/until.ts'

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const at = (file: string): string => join(folder.path, file)

writeFileSync(at('weather.py'), fixtureModule('weather'))
const started = sharedServerWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder.path } })

/** A module with one tool that answers this. */
function saying(name: string, answer: string): string {
  return `def say() -> str:\n    """Says it."""\n    return "${answer}"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}

async function answerOf(server: Server, name: string): Promise<string> {
  const [, result] = await invoked(server, `${name}:say`)
  return result.textResultForLlm
}

const says = (server: Server, name: string, answer: string): Promise<string> =>
  until(
    () => answerOf(server, name),
    (text) => text === answer,
  )

withPython(
  'what lies in the folder at the start is listed with its source and called by name and alias',
  async () => {
    const server = await started()
    const { status, reason, tools, ...body } = await folderWhen(server, (body) =>
      body.tools.some(({ file }) => file === 'weather.py'),
    )
    expect({ folder: body.folder, status, reason }).toEqual({
      folder: folder.path,
      status: 'watched',
      reason: null,
    })
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
    expect(await (await server.fetch(`/workflows/tools/explain?name=${name}`)).json()).toMatchObject({
      winner: 'file',
      callable: 'service',
      layers: [{}, {}, { status: 'found', source: 'weather.py, line 16' }],
    })
  },
)

withPython(
  'a file that is saved, changed, broken, mended, renamed and removed comes, changes and goes with its tools',
  async () => {
    const server = await started()
    const faultsOf = async (file: string) =>
      (await folderBody(server)).skipped.filter((skip) => skip.file === file)
    writeFileSync(at('life.py'), saying('life', 'one'))
    await folderHas(server, ['life:say'], 'life.py')
    expect(await listedNames(server, 'names=life:say')).toEqual(['life:say'])
    expect(await answerOf(server, 'life')).toBe('one')
    writeFileSync(at('life.py'), saying('life', 'two'))
    await says(server, 'life', 'two')
    writeFileSync(at('.life.py.swp'), saying('life', 'three'))
    renameSync(at('.life.py.swp'), at('life.py'))
    await says(server, 'life', 'three')

    const { tools } = await folderHas(server, ['life:say'], 'life.py')
    writeFileSync(at('life.py'), saying('life', 'four').replace('()', '('))
    const { skipped } = await folderWhen(server, (body) =>
      body.skipped.some(({ file }) => file === 'life.py'),
    )
    expect(skipped.find(({ file }) => file === 'life.py')).toMatchObject({
      reason: 'MODULE_BROKEN',
      kind: 'syntax_error',
      line: expect.any(Number),
      serving: tools.find(({ file }) => file === 'life.py')?.sha256,
    })
    expect(await answerOf(server, 'life')).toBe('three')
    const health = (await (await server.fetch('/health')).json()) as {
      layers: { file: { skipped: unknown } }
    }
    expect(health.layers.file.skipped).toContainEqual(expect.objectContaining({ source: 'life.py' }))
    writeFileSync(at('life.py'), saying('life', 'four'))
    await says(server, 'life', 'four')
    expect(await faultsOf('life.py')).toEqual([])

    renameSync(at('life.py'), at('lively.py'))
    await folderHas(server, [], 'life.py')
    expect(await answerOf(server, 'life')).toBe('Unsupported tool: life:say')
    await folderWhen(server, (body) => body.skipped.some(({ file }) => file === 'lively.py'))
    expect(await faultsOf('lively.py')).toMatchObject([{ kind: 'name_prefix', name: 'life:say' }])
    rmSync(at('lively.py'))
    await folderWhen(server, (body) => !body.skipped.some(({ file }) => file === 'lively.py'))
  },
)

/** The `__init__.py` of a module whose one tool answers what its sibling `words.py` says. */
function init(name: string): string {
  return `from .words import WORD\n\ndef say() -> str:\n    """Says it."""\n    return WORD\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}

/** The faults of a module of several files. */
function faultsIn(name: string, { skipped }: Pick<FolderBody, 'skipped'>): readonly FolderSkip[] {
  return skipped.filter(({ file }) => file.startsWith(`${name}/`))
}

function isNotUtf8({ kind }: FolderSkip): boolean {
  return kind === 'source_not_utf8'
}

withPython(
  'a folder with __init__.py is a module with its files; a changed sibling is called, and beside a broken one the old version',
  async () => {
    const server = await started()
    const files = { '__init__.py': init('hello'), 'words.py': 'WORD = "hi"\n' }
    mkdirSync(at('hello'))
    for (const [file, text] of Object.entries(files)) writeFileSync(at(`hello/${file}`), text)
    await says(server, 'hello', 'hi')
    const { tools } = await folderHas(server, ['hello:say'], 'hello/__init__.py')
    const serving = sha256Of(files)
    expect(tools.find(({ name }) => name === 'hello:say')).toMatchObject({
      file: 'hello/__init__.py',
      module: 'hello',
      category: 'hello',
      files: Object.keys(files),
      sha256: serving,
    })
    const one = await (await server.fetch('/api/tools/hello:say')).json()
    expect(one).toMatchObject({
      files: Object.keys(files),
      report: { name: 'hello:say', accepted: true },
    })

    writeFileSync(at('hello/words.py'), 'WORD = (\n')
    expect(
      faultsIn('hello', await folderWhen(server, (body) => faultsIn('hello', body).length > 0)),
    ).toMatchObject([
      {
        file: 'hello/__init__.py',
        kind: 'syntax_error',
        message: expect.stringMatching(/^hello\/words\.py, line 1: /),
        serving,
      },
    ])
    expect(await answerOf(server, 'hello')).toBe('hi')
    writeFileSync(at('hello/words.py'), Buffer.from('WORD = "caf\u00e9"\n', 'latin1'))
    expect(
      faultsIn('hello', await folderWhen(server, (body) => faultsIn('hello', body).some(isNotUtf8))),
    ).toMatchObject([
      { message: expect.stringMatching(/^hello\/words\.py, line 1: byte 0xE9 is not UTF-8\. /), serving },
    ])
    writeFileSync(at('hello/words.py'), 'WORD = "ho"\n')
    await says(server, 'hello', 'ho')
    expect(faultsIn('hello', await folderBody(server))).toEqual([])
  },
)

withPython(
  'a spec in another file is told with the place where it stands, also if it is refused, and its siblings load',
  async () => {
    const server = await started()
    const sibling = init('place').replace('from .words import WORD', 'WORD = "placed"')
    mkdirSync(at('place'))
    writeFileSync(at('place/__init__.py'), 'from .specs import TOOL_SPECS\n')
    writeFileSync(at('place/specs.py'), sibling.replace(']\n', ', {"name": "place:bad", "handler": 1}]\n'))
    await says(server, 'place', 'placed')
    const { tools, skipped } = await folderBody(server)
    expect(tools.find(({ name }) => name === 'place:say')).toMatchObject({ file: 'place/specs.py', line: 7 })
    expect(faultsIn('place', { skipped })).toMatchObject([
      {
        file: 'place/specs.py',
        kind: 'handler_not_callable',
        message: expect.stringMatching(/^place\/specs\.py, line 7: /),
      },
    ])
  },
)

/** What the terminal says of a module since `start`, when it has this text. Nothing asks the server for a list meanwhile. */
function told(server: Server, start: number, file: string, text: string): Promise<string> {
  const about = (): string =>
    server.log
      .slice(start)
      .split(/^(?=\S)/m)
      .filter((lines) => lines.startsWith(`module  ${file}  `))
      .join('')
  return until(
    () => Promise.resolve(about()),
    (lines) => lines.includes(text),
  )
}

withPython(
  'a saved file is told once at the terminal: its faults, what stays in use, and that it works again',
  async () => {
    const server = await started()
    const save = async (source: string, text: string): Promise<string> => {
      const start = server.log.length
      writeFileSync(at('notes.py'), source)
      return told(server, start, 'notes.py', text)
    }

    expect(await save('def a(:\n', 'syntax')).toBe(
      "module  notes.py  is refused\n      notes.py, line 1: Python can't read this (column 7): invalid syntax.\n",
    )
    expect(await save(moduleOf('notes', 'a'), 'works')).toBe('module  notes.py  works again: 1 tool\n')
    const broken = `${moduleOf('notes', 'a')}\nraise ValueError("\\x1b[31m\\nmodule  forged.py  loaded: 1 tool")\n`
    expect(await save(broken, 'forged')).toMatch(
      /^module {2}notes\.py {2}is refused; the last version that worked stays in use\n {6}notes\.py, line 9: /,
    )
    expect(server.log).not.toContain('\u001b')
    expect(server.log).not.toMatch(/^module {2}forged/m)
    // The same faults of other content are told again: the author has saved, and waits for a word.
    expect(await save(`${broken}\n`, 'notes.py, line 9')).toMatch(/^module {2}notes\.py {2}is refused; /)

    const partly = moduleOf('notes', 'a', 'b').replace('"notes:b"', '"other:b"')
    const left = await save(partly, 'left out')
    expect(left.split('\n').slice(0, 2)).toEqual([
      'module  notes.py  loaded: 1 tool, and some are left out',
      expect.stringMatching(/^ {6}notes\.py, line \d+: 'other:b': /),
    ])
    const start = server.log.length
    rmSync(at('notes.py'))
    expect(await told(server, start, 'notes.py', 'removed')).toBe('module  notes.py  is removed\n')

    // The specs of a module of several files may stand in any of its files.
    const beforeFolder = server.log.length
    mkdirSync(at('multi'))
    writeFileSync(at('multi/specs.py'), partly.replaceAll('notes', 'multi'))
    writeFileSync(at('multi/__init__.py'), 'from .specs import TOOL_SPECS\n')
    const multi = await told(server, beforeFolder, 'multi/__init__.py', 'other:b')
    expect(multi.split('\n').slice(0, 2)).toEqual([
      'module  multi/__init__.py  loaded: 1 tool, and some are left out',
      expect.stringMatching(/^ {6}multi\/specs\.py, line \d+: 'other:b': /),
    ])
    // A list reads the layer again, and must not tell the same again in another form.
    expect(server.log).not.toContain('definition skipped')
  },
)

function saveAsked(description: string): void {
  const source = `def write() -> str:\n    """${description}"""\n    return "written"\n\nTOOL_SPECS = [{"name": "asked:write", "handler": write}]\n`
  writeFileSync(at('asked.py'), source)
}

/** The digest of the tool `asked:write` when it has another one than this. */
async function digestAfter(server: Server, before: unknown): Promise<unknown> {
  const { tools } = await folderWhen(
    server,
    (body) =>
      !body.checking.some(({ file }) => file === 'asked.py') &&
      body.tools.some(({ name, digest }) => name === 'asked:write' && digest !== before),
  )
  return tools.find(({ name }) => name === 'asked:write')?.['digest']
}

type Called = { readonly meta: { readonly approval?: { readonly id: string } } }

async function callAsked(server: Server): Promise<{ readonly status: number; readonly id: string }> {
  const answer = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name: 'asked:write', arguments: {} }),
  })
  const { meta } = (await answer.json()) as Called
  return { status: answer.status, id: meta.approval?.id ?? '' }
}

async function asApprover(server: Server, method: string, path: string, body: object): Promise<void> {
  const init = { method, headers: server.approver, body: JSON.stringify(body) }
  expect((await server.fetch(`/workflows${path}`, init)).status).toBeLessThan(300)
}

withPython(
  'an answer for always about a module of the folder outlives a restart, and ends for good when its file changes there and back',
  async () => {
    const server = await started()
    saveAsked('Writes.')
    const first = await digestAfter(server, undefined)
    await asApprover(server, 'PUT', '/rules/user/local', { rules: [{ effect: 'ask', tool: 'asked:*' }] })
    const { status, id } = await callAsked(server)
    expect(status).toBe(202)
    await asApprover(server, 'POST', `/approvals/${id}`, { decision: 'always' })
    expect((await callAsked(server)).status).toBe(200)
    await server.kill9()
    await server.restart()
    await folderHas(server, ['asked:write'], 'asked.py')
    expect((await callAsked(server)).status).toBe(200)
    saveAsked('Writes more.')
    const second = await digestAfter(server, first)
    saveAsked('Writes.')
    expect(await digestAfter(server, second)).toBe(first)
    expect((await callAsked(server)).status).toBe(202)
  },
)
