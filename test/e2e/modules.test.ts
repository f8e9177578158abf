import { expect } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { invoked } from '../support/invocation.ts'
import { sha256Of } from '../support/module-changes.ts'
import {
  fixtureModule,
  layerState,
  moduleOf,
  runnerReady,
  serverWithRunner,
  sharedServerWithRunner,
  upload,
  uploaded,
  uploadFiles,
} from '../support/modules.ts'
import type { ModuleBody } from '../support/modules.ts'
import { runnerTreeOf } from '../support/processes.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { list, listedNames } from '../support/tool.ts'
import { until } from '../support/until.ts'

const started = sharedServerWithRunner()
const MODULES = '/workflows/tools/modules'

async function get(server: Server, path: string): Promise<Record<string, unknown>> {
  return (await (await server.fetch(path)).json()) as Record<string, unknown>
}

async function said(server: Server, name: string): Promise<string> {
  return (await invoked(server, `${name}:say`))[1].textResultForLlm
}

withPython(
  'a file that is uploaded is listed at once, and the answer tells what became of each spec',
  async () => {
    const server = await started()
    const source = fixtureModule('weather')
    const answer = await upload(server, 'weather', source)
    expect([answer.status, answer.headers.get('etag')]).toEqual([201, `"${sha256Of(source)}"`])
    expect(await answer.json()).toMatchObject({
      name: 'weather',
      layer: 'user',
      outcome: 'created',
      sha256: sha256Of(source),
      tools: {
        added: ['weather:get_report', 'weather:get_temperatures'],
        changed: [],
        removed: [],
        unchanged: [],
      },
      shadows: [],
      report: {
        specs: [
          {
            name: 'weather:get_report',
            line: 16,
            accepted: true,
            derived: [],
            faults: [],
            examples: [
              { index: 0, outcome: 'success', matched: true },
              { index: 1, outcome: 'success', matched: true },
            ],
          },
          { name: 'weather:get_temperatures', accepted: true, derived: ['parameters'] },
        ],
      },
    })
    const [listed] = await list(server, 'names=weather:get_report')
    expect(listed?.function.parameters).toEqual({
      type: 'object',
      properties: { location: { type: 'string', description: 'City or region.' } },
      required: ['location'],
    })
    expect(await get(server, '/workflows/tools/defs/weather:get_report')).toMatchObject({
      definition: {
        runner: { kind: 'python', module: 'weather', sha256: sha256Of(source) },
        category: 'weather',
        annotations: { readOnlyHint: true },
        limits: { timeoutSeconds: 5 },
      },
    })
  },
)

withPython('a source comes back as it was sent, with its byte order mark and its line ends', async () => {
  const server = await started()
  const source = `\ufeff${moduleOf('readback', 'one')}# "ü" \u2028\r\n`
  const { report } = await uploaded(server, 'readback', source)
  expect(await get(server, `${MODULES}/readback`)).toMatchObject({
    sha256: sha256Of(source),
    tools: ['readback:one'],
    updatedBy: 'local',
    report,
    source,
  })
})

withPython(
  'a spec that the service does not admit is refused with its pointer, and its siblings load',
  async () => {
    const server = await started()
    const source = `
def run(**rest):
    return 1

WIDE = {"type": "object", "properties": {f"p{i}": {} for i in range(2_100)}}
LOOKAHEAD = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}
TOOL_SPECS = [
    {"name": "mixed:wide", "description": "Wide.", "handler": run, "parameters": WIDE},
    {"name": "mixed:good", "description": "Good.", "handler": run, "parameters": LOOKAHEAD},
    {"name": "mixed:bad", "description": "Bad.", "handler": 1},
    {"name": "mixed:marked", "description": "M.", "handler": run, "parameters": {"properties": {"a": {"x-sensitive": "true"}}}},
]
`
    const { tools, report } = await uploaded(server, 'mixed', source)
    expect(report.specs).toMatchObject([
      {
        name: 'mixed:wide',
        accepted: false,
        faults: [
          {
            code: 'SCHEMA_REJECTED',
            kind: 'parameters_invalid',
            line: 8,
            pointer: '/parameters',
            message: expect.stringMatching(/^mixed\.py, line 8: 'mixed:wide': \/parameters .*2,?000/),
          },
        ],
      },
      {
        name: 'mixed:good',
        accepted: true,
        faults: [],
        unenforced: [{ pointer: '/parameters/properties/a/pattern', reason: expect.any(String) }],
      },
      { name: 'mixed:bad', accepted: false, faults: [{ kind: 'handler_not_callable' }] },
      {
        name: 'mixed:marked',
        accepted: false,
        faults: [{ code: 'SCHEMA_REJECTED', pointer: '/parameters/properties/a/x-sensitive' }],
      },
    ])
    expect(tools.added).toEqual(['mixed:good'])
    expect(await listedNames(server, 'category=mixed')).toEqual(['mixed:good'])
  },
)

withPython('a module of which the service admits no spec is refused with all of their faults', async () => {
  const server = await started()
  const before = await layerState(server)
  const source = `
def run(**rest): ...
WIDE = {"type": "object", "properties": {f"p{i}": {} for i in range(2_100)}}
TOOL_SPECS = [
    {"name": "none:wide", "description": "Wide.", "handler": run, "parameters": WIDE},
    {"name": "none:bad", "description": "Bad.", "handler": 1},
]
`
  expect(await errorAnswer(await upload(server, 'none', source))).toMatchObject({
    httpStatus: 422,
    message: expect.stringMatching(/^none\.py, line 5: .* \(and 1 more, see details\)$/),
    details: [
      { reason: 'SCHEMA_REJECTED', name: 'none:wide', pointer: '/parameters' },
      { reason: 'MODULE_INVALID', name: 'none:bad', kind: 'handler_not_callable' },
    ],
  })
  expect(await layerState(server)).toEqual(before)
})

withPython('examples that fail are notes of an accepted spec', async () => {
  const source = `${moduleOf('noted', 'one')}TOOL_SPECS[0]["examples"] = [{"arguments": {"text": "a"}, "result": "b"}, {"arguments": {}}]\n`
  const { report } = await uploaded(await started(), 'noted', source)
  expect(report.specs).toMatchObject([
    {
      accepted: true,
      notes: [{ kind: 'example_failed' }, { kind: 'example_failed' }],
      examples: [
        { index: 0, outcome: 'success', matched: false },
        { index: 1, outcome: 'failure', code: 'ARGUMENTS_INVALID' },
      ],
    },
  ])
})

/** A module whose answer comes from a sibling and from a file of data. */
function greeting(name: string, word: string): Readonly<Record<string, string>> {
  return {
    '__init__.py': `from .words import WORD\nfrom .data import place\n\ndef say() -> str:\n    """Greets."""\n    return f"{WORD} {place()}"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`,
    'words.py': `WORD = "${word}"\n`,
    'data/__init__.py':
      'import pkgutil\n\ndef place():\n    return pkgutil.get_data(__package__, "place.txt").decode()\n',
    'data/place.txt': 'Zürich',
  }
}

/** A module of one file with the tool of `greeting`. */
function one(name: string): string {
  return `def say() -> str:\n    """Greets."""\n    return "alone"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}

withPython('several files are checked, listed, called and read back as one module', async () => {
  const server = await started()
  const files = greeting('hello', 'Grüezi')
  const answer = await uploadFiles(server, 'hello', files)
  const sha256 = sha256Of(files)
  expect([answer.status, answer.headers.get('etag')]).toEqual([201, `"${sha256}"`])
  expect(await answer.json()).toMatchObject({ outcome: 'created', sha256, tools: { added: ['hello:say'] } })
  expect(await said(server, 'hello')).toBe('Grüezi Zürich')
  const read = await get(server, `${MODULES}/hello`)
  expect(read).toMatchObject({ name: 'hello', sha256, files })
  expect(await get(server, '/workflows/tools/defs/hello:say')).toMatchObject({
    definition: { runner: { kind: 'python', module: 'hello', sha256 }, category: 'hello' },
  })
  const again = (await (
    await uploadFiles(server, 'hello', (read as { files: typeof files }).files)
  ).json()) as object
  expect(again).toMatchObject({ outcome: 'unchanged' })
})

withPython(
  'each upload is called at once; older content comes back by a rollback, also after a deletion',
  async () => {
    const server = await started()
    const first = await uploaded(server, 'rolls', one('rolls'))
    const put = async (word: string): Promise<ModuleBody> =>
      (await (await uploadFiles(server, 'rolls', greeting('rolls', word))).json()) as ModuleBody
    expect(await said(server, 'rolls')).toBe('alone')
    const second = await put('two')
    expect(second).toMatchObject({ outcome: 'updated', tools: { changed: ['rolls:say'] } })
    expect(await said(server, 'rolls')).toBe('two Zürich')
    await put('three')
    expect(await said(server, 'rolls')).toBe('three Zürich')
    const roll = (body: object) =>
      server.fetch(`${MODULES}/rolls/rollback`, { method: 'POST', body: JSON.stringify(body) })
    expect((await roll({ sha256: second.sha256 })).status).toBe(200)
    expect(await said(server, 'rolls')).toBe('two Zürich')
    expect((await roll({ revision: first.revision })).status).toBe(200)
    expect(await said(server, 'rolls')).toBe('alone')
    const wrong = { 'If-Match': `"${second.sha256}"` }
    expect((await uploadFiles(server, 'rolls', greeting('rolls', 'no'), { headers: wrong })).status).toBe(412)
    expect((await server.fetch(`${MODULES}/rolls`, { method: 'DELETE' })).status).toBe(200)
    expect(await listedNames(server, 'category=rolls')).toEqual([])
    expect((await roll({ sha256: second.sha256 })).status).toBe(200)
    expect(await said(server, 'rolls')).toBe('two Zürich')
  },
)

withPython('the global layer and the addresses of jobs take several files too', async () => {
  const server = await started()
  const body = JSON.stringify({ files: greeting('shared', 'Hi') })
  const headers = { 'Content-Type': 'application/json; charset=utf-8' }
  const answer = await server.fetch('/jobs/tools/modules/shared?layer=global', {
    method: 'PUT',
    body,
    headers,
  })
  expect(await answer.json()).toMatchObject({ outcome: 'created', layer: 'global' })
  expect(await said(server, 'shared')).toBe('Hi Zürich')
})

const REFUSED: readonly [what: string, files: Record<string, string>, kind: string, message: RegExp][] = [
  ['no __init__.py', { 'init.py': '' }, 'init_missing', /^bad\/: there is no __init__\.py/],
  [
    'a path that no text of Python has',
    { '__init__.py': '', '\uffff': '', '\ud83d\ude00': '' },
    'path_invalid',
    /is no path/,
  ],
  [
    'a fault in a sibling',
    { '__init__.py': 'from . import a', 'a.py': 'x = (' },
    'syntax_error',
    /^bad\/a\.py, line 1: /,
  ],
]

for (const [what, files, kind, message] of REFUSED)
  withPython(`a module with ${what} is refused with its kind, and nothing is written`, async () => {
    const server = await started()
    const answer = await errorAnswer(await uploadFiles(server, 'bad', files))
    expect(answer).toMatchObject({ httpStatus: 422, details: [{ kind }] })
    expect(answer.message).toMatch(message)
    expect((await server.fetch(`${MODULES}/bad/versions`)).status).toBe(404)
  })

withPython('files as large as allowed are taken together, with characters that JSON escapes', async () => {
  const server = await started()
  const files = greeting('large', 'big')
  const bytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const full = { ...files, 'full.txt': '"abc"\n'.repeat(512 * 1024).slice(0, 512 * 1024 - bytes) }
  expect(await (await uploadFiles(server, 'large', full)).json()).toMatchObject({ outcome: 'created' })
  expect(await said(server, 'large')).toBe('big Zürich')
})

withPython(
  'modules outlive a server that is killed, and a runner that is killed costs only the upload that it checks',
  async () => {
    await using server = await serverWithRunner()
    for (const name of ['a', 'b']) await uploaded(server, 'notes', moduleOf('notes', name))
    const whole = () => Promise.all([layerState(server), get(server, `${MODULES}/notes/versions`)])
    const before = await whole()
    await server.kill9()
    await server.restart()
    expect(await whole()).toEqual(before)
    expect(await get(server, `${MODULES}/notes`)).toMatchObject({ source: moduleOf('notes', 'b') })

    await runnerReady(server)
    const uploading = upload(server, 'notes', `import time\ntime.sleep(60)\n${moduleOf('notes', 'c')}`)
    const [runner = 0, ...idle] = runnerTreeOf(server.pid)
    await until(
      () => Promise.resolve(runnerTreeOf(server.pid)),
      (now) => now.some((pid) => !idle.includes(pid) && pid !== runner),
    )
    process.kill(runner, 'SIGKILL')
    expect(await errorAnswer(await uploading)).toMatchObject({
      httpStatus: 503,
      reason: 'RUNNER_UNAVAILABLE',
    })
    expect(await whole()).toEqual(before)
    const next = await until(
      () => upload(server, 'notes', moduleOf('notes', 'd')),
      ({ status }) => status !== 503,
    )
    expect(next.status).toBe(200)
    expect(await listedNames(server, 'category=notes')).toEqual(['notes:d'])
  },
)
