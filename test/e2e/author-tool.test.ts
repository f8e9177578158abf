import { afterAll, beforeAll, expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runTool, startTool } from '../support/author-tool.ts'
import { serverWithRunner, upload } from '../support/modules.ts'
import { isAlive, runnerTreeOf } from '../support/processes.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { UNPRIVILEGED } from '../support/unprivileged.ts'
import { until } from '../support/until.ts'

const WEATHER = readFileSync(
  fileURLToPath(new URL('../../docs/examples/weather.py', import.meta.url)),
  'utf8',
)

const MIXED = `
print("imported \\x1b[31m")


def add(a: int, b: float = 0.5, note: str | None = None, tags: list[str] | None = None) -> dict:
    """Add two numbers."""
    print("adding")
    return {"sum": a + b, "note": note, "tags": tags}


def fails(text: str) -> str:
    """Raise."""
    raise ValueError(text)


def who(context: dict) -> dict:
    """Give the context back."""
    return context


def slow() -> str:
    """Never end."""
    while True:
        pass


def by_place(x, /):
    """Has a fault."""


TOOL_SPECS = [
    {"name": "mixed:add", "handler": add, "examples": [{"arguments": {"a": 1}, "result": 2}]},
    {"name": "mixed:fails", "handler": fails, "examples": [{"arguments": {"text": "no"}}]},
    {"name": "mixed:who", "handler": who, "secrets": ["A_KEY"], "examples": [{"arguments": {}}]},
    {"name": "mixed:slow", "handler": slow},
    {"name": "mixed:by_place", "handler": by_place},
]
`

/** A folder with these modules. */
function folderOf(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder()
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder.path, name), source)
  return folder
}

withPython(
  'check says of a good module what its tools are and what its examples return: code 0',
  async () => {
    using folder = folderOf({ 'weather.py': WEATHER })
    expect(await runTool({ folder: folder.path }, 'check', 'weather.py')).toEqual({
      code: 0,
      stderr: '',
      stdout: `weather.py: accepted, 2 tools
  weather:get_report(location: string, days: integer = 1)  (from the signature)
    example 0: ok, returned "Bern: cloudy for 1 day(s)."
  weather:get_temperatures(location: string, days: integer = 1)  (from the signature)
  printed:
    | asked for Bern
`,
    })
  },
)

withPython('check tells each fault, failed example, note and print with its place: code 1', async () => {
  using folder = folderOf({ 'mixed.py': MIXED })
  const { code, stdout, stderr } = await runTool({ folder: folder.path }, 'check', 'mixed.py')
  expect([code, stderr]).toEqual([1, ''])
  expect(stdout).toMatch(/^mixed\.py: accepted, 4 of 5 tools\n/)
  const parts = 'a: integer, b: number = 0.5, note: string | null = null, tags: array | null = null'
  expect(stdout).toContain(`  mixed:add(${parts})  (from the signature)\n`)
  expect(stdout).toMatch(
    /\n {4}example 0: not what it states, returned "\{.*\n {4}note: mixed\.py, line \d+: /,
  )
  expect(stdout).toMatch(/\n {4}example 0: failed with TOOL_RAISED\n {6}\| Traceback/)
  expect(stdout).toMatch(
    /mixed:who.*\n {4}example 0: skipped, because a check has neither secrets nor a network/,
  )
  expect(stdout).toContain('    secrets   A_KEY\n')
  expect(stdout).toMatch(/\n {2}mixed:by_place: refused\n {4}mixed\.py, line \d+: .* Remove the \/ from/)
  expect(stdout).toContain(String.raw`    | imported \u001b[31m`)
  expect(stdout).not.toContain('\u001b')
})

const KEYED = `
def shows(context: dict) -> dict:
    """Give the secrets back."""
    key = context["secrets"]["API_KEY"]
    print("with " + key)
    context.progress(0.5, "using " + key)
    return {"names": sorted(context["secrets"]), "key": key, "length": len(key)}


TOOL_SPECS = [{"name": "keyed:shows", "handler": shows, "secrets": ["API_KEY"]}]
`

withPython(
  'call gives a tool the secret of a variable, and nothing that it prints or returns has it',
  async () => {
    using folder = folderOf({ 'keyed.py': KEYED })
    const env = { TOOLRACK_SECRET_API_KEY: 'sk-canary-7f3', TOOLRACK_SECRET_OTHER: 'not for this tool' }
    const run = await runTool({ folder: folder.path, env }, 'call', 'keyed.py', '--secret', 'API_KEY')
    expect(run).toEqual({
      code: 0,
      stdout: '{"names":["API_KEY"],"key":"[redacted]","length":13}\n',
      stderr: expect.stringMatching(/^with \[redacted\]\n50 % using \[redacted\]\n$/),
    })
    const [without, unset] = await Promise.all([
      runTool({ folder: folder.path, env }, 'call', 'keyed.py'),
      runTool({ folder: folder.path }, 'call', 'keyed.py', '--secret', 'API_KEY'),
    ])
    expect(without).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'keyed:shows needs the secret API_KEY: add --secret API_KEY, and set TOOLRACK_SECRET_API_KEY.\n',
    })
    expect(unset).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'The secret API_KEY has no value: set TOOLRACK_SECRET_API_KEY, or run this in a terminal, which asks for the value.\n',
    })
  },
)

const SIZES = `
def size(data: bytes, note: str = "") -> list:
    """Counts what a file holds."""
    return [len(data), data[:2].hex(), len(note)]


TOOL_SPECS = [{"name": "sizes:size", "handler": size}]
`

withPython('call sends a file in base64 for an argument of bytes, and as text for a string', async () => {
  using folder = folderOf({ 'sizes.py': SIZES, 'note.txt': 'five!' })
  writeFileSync(join(folder.path, 'picture'), new Uint8Array([0xff, 0, 1]))
  const run = await runTool(
    { folder: folder.path },
    'call',
    'sizes.py',
    'size',
    'data=@picture',
    'note=@note.txt',
  )
  expect(run).toEqual({ code: 0, stdout: '[3,"ff00",5]\n', stderr: '' })
})

withPython('check --json is what an upload of the file is answered, also if it is refused', async () => {
  using folder = folderOf({ 'mixed.py': MIXED, 'broken.py': 'import nothing_like_it\n' })
  await using server = await serverWithRunner()
  const [accepted, refused] = await Promise.all(
    ['mixed', 'broken'].map((name) => runTool({ folder: folder.path }, 'check', `${name}.py`, '--json')),
  )
  const uploaded = (await (await upload(server, 'mixed', MIXED)).json()) as Record<string, unknown>
  const { name, sha256, report } = JSON.parse(accepted?.stdout ?? '') as Record<string, unknown>
  // The lines of a child's memory differ from run to run; nothing else may.
  expect({ name, sha256, report }).toEqual({
    name: uploaded['name'],
    sha256: uploaded['sha256'],
    report: uploaded['report'],
  })
  const answer = await upload(server, 'broken', 'import nothing_like_it\n')
  expect([refused?.code, JSON.parse(refused?.stdout ?? '')]).toEqual([1, await answer.json()])
})

withPython(
  'call reads values as the parameters say, and writes the result to stdout, prints to stderr',
  async () => {
    using folder = folderOf({ 'mixed.py': MIXED, 'note.txt': 'from a file', 'tags.json': '["x"]' })
    const at = { folder: folder.path }
    const [plain, whole, json, context] = await Promise.all([
      runTool(at, 'call', 'mixed.py', 'add', 'a=2', 'note=3', 'b=1e1', 'tags:=@tags.json'),
      runTool(at, 'call', 'mixed.py', 'mixed:add', '--arguments', '{"a": 1}', 'note=@note.txt', 'tags=null'),
      runTool(at, 'call', 'mixed.py', 'fails', 'text=a=b', '--json'),
      runTool(
        { ...at, env: { TOOLRACK_SECRET_A_KEY: 'sk-canary' } },
        'call',
        'mixed.py',
        'who',
        '--context={"room": "kitchen"}',
        '--secret=A_KEY',
      ),
    ])
    expect([plain?.code, plain?.stdout]).toEqual([0, '{"sum":12,"note":"3","tags":["x"]}\n'])
    expect(plain?.stderr).toMatch(/adding\n$/)
    expect(whole?.stdout).toBe('{"sum":1.5,"note":"from a file","tags":null}\n')
    const { resultType, code, meta } = JSON.parse(json?.stdout ?? '') as Record<string, unknown>
    expect([json?.code, resultType, code]).toEqual([1, 'failure', 'TOOL_RAISED'])
    expect(meta).toMatchObject({ tool: 'mixed:fails', isolation: expect.stringMatching(/^L/) })
    expect(JSON.stringify(JSON.parse(context?.stdout ?? ''))).toContain('"room":"kitchen"')
  },
)

withPython('a call that fails is told on stderr with its code: code 1', async () => {
  using folder = folderOf({ 'mixed.py': MIXED, 'weather.py': WEATHER })
  const at = { folder: folder.path }
  const [raised, invalid, late] = await Promise.all([
    runTool(at, 'call', 'mixed.py', 'fails', 'text=no\u001b[2J'),
    runTool(at, 'call', 'weather.py', 'get_report', 'locatoin=Bern'),
    runTool(at, 'call', 'mixed.py', 'slow', '--timeout', '0.3'),
  ])
  expect([raised?.code, raised?.stdout]).toEqual([1, ''])
  expect(raised?.stderr).toMatch(/mixed:fails: TOOL_RAISED\nTraceback[^]*ValueError: no\\u001b\[2J\n$/)
  expect(invalid).toMatchObject({ code: 1, stdout: '' })
  expect(invalid?.stderr).toMatch(/ARGUMENTS_INVALID\n.*Did you mean 'location'\?/)
  expect([late?.code, late?.stderr]).toEqual([1, expect.stringContaining('mixed:slow: DEADLINE_EXCEEDED\n')])
})

/** Commands that cannot be done, with their exit code and their sentence. */
const WRONG: readonly (readonly [readonly string[], number, RegExp])[] = [
  [['call', 'weather.py'], 2, /^Name the tool to call: weather\.py has weather:get_report, weather:get_temp/],
  [['call', 'weather.py', 'get_report', 'days=three'], 2, /^'days' must be JSON of type integer, and /],
  [['check', 'nowhere.py'], 1, /^There is no file nowhere\.py\./],
  [['new', 'weather.py'], 1, /^weather\.py exists already\. Nothing was written\./],
]

withPython('a command that cannot be done is refused in one sentence, and writes nothing', async () => {
  using folder = folderOf({ 'weather.py': WEATHER })
  const before = readdirSync(folder.path)
  const runs = await Promise.all(WRONG.map(([args]) => runTool({ folder: folder.path }, ...args)))
  for (const [index, [args, code, sentence]] of WRONG.entries()) {
    const { stderr, ...rest } = runs[index] ?? { stderr: '' }
    expect([args, stderr]).toEqual([args, expect.stringMatching(sentence)])
    expect([args, rest]).toEqual([args, { code, stdout: '' }])
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  }
  expect(readdirSync(folder.path)).toEqual(before)
})

/** This check takes 20 seconds, so it runs beside the other tests. */
let hanging: ReturnType<typeof runTool> | undefined
let hangs: ReturnType<typeof folderOf> | undefined
beforeAll(() => {
  if (!existsSync(PYTHON)) return
  hangs = folderOf({ 'hangs.py': 'import time\ntime.sleep(1_000)\nTOOL_SPECS = []\n' })
  hanging = runTool({ folder: hangs.path }, 'check', 'hangs.py')
})
afterAll(() => hangs?.[Symbol.dispose]())

withPython('a module that exits or prints 1 MB is told in a few lines', async () => {
  const loud = 'def go() -> str:\n    """G."""\n    print("y" * 1_000_000)\n    return "ok"\n'
  using folder = folderOf({
    'exits.py': 'import sys\nsys.exit(3)\nTOOL_SPECS = []\n',
    'loud.py': `${loud}TOOL_SPECS = [{"name": "loud:go", "handler": go}]\n`,
  })
  const at = { folder: folder.path }
  const [exits, called] = await Promise.all([
    runTool(at, 'check', 'exits.py'),
    runTool(at, 'call', 'loud.py'),
  ])
  expect([exits?.code, exits?.stdout]).toEqual([
    1,
    expect.stringContaining('importing the module calls exit()'),
  ])
  expect([called?.code, called?.stdout]).toEqual([0, 'ok\n'])
  expect(called?.stderr).toMatch(/^y{60000,70000}\n… what it printed after this was not kept\n$/)
})

withPython(
  'a package that cannot be had is a refusal, and the folder of the author stays as it is',
  async () => {
    const head = '# /// script\n# dependencies = ["no-such-package-xyz"]\n# ///\n'
    using folder = folderOf({ 'asks.py': `${head}TOOL_SPECS = []\n` })
    using wheels = temporaryFolder()
    const env = { TOOLRACK_DATA: '', TOOLRACK_PACKAGES_WHEELS: wheels.path }
    const { code, stdout } = await runTool({ folder: folder.path, env }, 'check', 'asks.py')
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^asks\.py: refused\n.*no-such-package-xyz/)])
    expect(readdirSync(folder.path)).toEqual(['asks.py'])
  },
)

withPython('Ctrl-C ends the command and every process that it has started', async () => {
  using folder = folderOf({ 'hangs.py': 'while True:\n    pass\nTOOL_SPECS = []\n' })
  const { child, ended } = startTool({ folder: folder.path }, 'check', 'hangs.py')
  const started = await until(
    () => Promise.resolve(runnerTreeOf(child.pid ?? 0)),
    (pids) => pids.length >= 3,
  )
  child.kill('SIGINT')
  expect(await ended).toEqual({ code: 130, stdout: '', stderr: '' })
  expect(started.filter(isAlive)).toEqual([])
})

withPython('without a Python, the command says what to install', async () => {
  using folder = folderOf({ 'weather.py': WEATHER })
  const env = { TOOLRACK_PYTHON: '/nowhere/python' }
  const run = await runTool({ folder: folder.path, env }, 'check', 'weather.py')
  expect(run).toMatchObject({ code: 1, stderr: '' })
  expect(run.stdout).toMatch(
    /^weather\.py: not checked\n {4}TOOLRACK_PYTHON must be the path of a Python 3\.11/,
  )
})

withPython('new writes a module that passes the check and a test that passes', async () => {
  using folder = temporaryFolder()
  const at = { folder: folder.path }
  const made = await runTool(at, 'new', 'notes.py')
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect((await runTool(at, 'check', 'notes.py')).code).toBe(0)
  const pytest = spawnSync(PYTHON, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], {
    cwd: folder.path,
    encoding: 'utf8',
  })
  expect([pytest.status, pytest.stdout]).toEqual([0, expect.stringContaining('3 passed')])
  expect(existsSync(join(folder.path, 'tests/test_notes.py'))).toBe(true)
})

testWhere(UNPRIVILEGED !== undefined && existsSync(PYTHON), 'root cannot be made to obey file modes here')(
  'a file that may not be read is one sentence',
  async () => {
    using folder = folderOf({ 'weather.py': WEATHER })
    chmodSync(join(folder.path, 'weather.py'), 0)
    const where = { folder: folder.path, through: UNPRIVILEGED ?? [] }
    expect(await runTool(where, 'check', 'weather.py')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'weather.py cannot be read (permission denied).\n',
    })
  },
)

withPython('a module that hangs at its import is refused in one sentence', async () => {
  expect(await hanging).toEqual({
    code: 1,
    stderr: '',
    stdout: expect.stringMatching(
      /^hangs\.py: refused\n {4}hangs\.py.*: importing the module did not end within/,
    ),
  })
})

withPython(
  'a folder with __init__.py is checked and called as one module, and its faults name its files',
  async () => {
    using folder = temporaryFolder()
    const at = (file: string): string => join(folder.path, 'trip', file)
    mkdirSync(at(''))
    writeFileSync(at('helpers.py'), 'def shown(km): return f"{km:.1f} km"\n')
    const handler =
      'def km(miles: float) -> str:\n    """Convert."""\n    return helpers.shown(miles * 1.609)\n'
    const specs = 'TOOL_SPECS = [{"name": "trip:km", "handler": km}]\n'
    writeFileSync(at('__init__.py'), `from . import helpers\n${handler}${specs}`)
    const where = { folder: folder.path }
    const [checked, called, inside] = await Promise.all([
      runTool(where, 'check', 'trip'),
      runTool(where, 'call', 'trip/__init__.py', 'miles=3'),
      runTool({ folder: at('') }, 'check', '.', '--json'),
    ])
    expect(checked).toEqual({
      code: 0,
      stderr: '',
      stdout: 'trip/__init__.py: accepted, 1 tool\n  trip:km(miles: number)  (from the signature)\n',
    })
    expect(called).toEqual({ code: 0, stderr: '', stdout: '4.8 km\n' })
    expect(JSON.parse(inside?.stdout ?? '')).toMatchObject({ name: 'trip', tools: ['trip:km'] })
    writeFileSync(at('helpers.py'), 'def shown(:\n')
    const broken = await runTool(where, 'check', 'trip')
    expect([broken.code, broken.stdout]).toEqual([
      1,
      expect.stringMatching(/^trip\/__init__\.py: refused\n {4}trip\/helpers\.py, line 1: /),
    ])
  },
)
