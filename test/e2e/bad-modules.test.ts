import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { errorAnswer } from '../support/error-answer.ts'
import { layerState, moduleOf, sharedServerWithRunner, upload, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'

/** A module whose one spec has these fields in the place of its own; `None` leaves one out. */
function withSpec(fields: Readonly<Record<string, string>>, before = ''): string {
  const own = { name: '"notes:run"', description: '"Runs."', handler: 'run', ...fields }
  const spec = Object.entries(own).flatMap(([key, value]) => (value === 'None' ? [] : `"${key}": ${value}`))
  return `def run(a, b=2):\n    return a\n${before}\nTOOL_SPECS = [{${spec.join(', ')}}]\n`
}

type Bad = {
  readonly kind: string
  readonly source: string | Uint8Array
  readonly code?: string
  readonly message: RegExp
  readonly name?: string
}

const SPECS = 'TOOL_SPECS = []\n'
const broken = { code: 'MODULE_BROKEN' } as const

/** One for each kind of fault that docs/modules.md lists, by what its author reads. */
const BAD: readonly Bad[] = [
  {
    kind: 'module_name_invalid',
    name: 'we-ather',
    source: SPECS,
    message: /no module name .* Rename the file/,
  },
  { kind: 'module_name_invalid', name: 'class', source: SPECS, message: /no word of Python/ },
  {
    kind: 'module_name_invalid',
    name: 'n'.repeat(129),
    source: SPECS,
    message: /^the file: .*Rename the file/,
  },
  { kind: 'module_name_invalid', name: 'a/b', source: SPECS, message: /Rename the file/ },
  { kind: 'module_name_taken', name: 'json', source: SPECS, message: /standard library.*Rename it/ },
  {
    kind: 'source_not_utf8',
    source: Buffer.from('x = 1\ny = "é"\n', 'latin1'),
    message: /^notes\.py, line 2: byte 0xE9 is not UTF-8\. Save the file as UTF-8\./,
  },
  { kind: 'source_has_nul', source: 'x = 1\n\0', message: /^notes\.py, line 2: .*NUL byte\. Remove it/ },
  { ...broken, kind: 'syntax_error', source: 'x = 1\ndef :\n', message: /^notes\.py, line 2/ },
  {
    ...broken,
    kind: 'source_too_nested',
    source: `x = ${'-'.repeat(100_000)}1\n${SPECS}`,
    message: /nested/,
  },
  { ...broken, kind: 'specs_missing', source: '', message: /there is no TOOL_SPECS/ },
  { ...broken, kind: 'specs_missing', source: 'TOOL_SPEC = []\n', message: /did you mean it by 'TOOL_SPEC'/ },
  { ...broken, kind: 'specs_not_a_list', source: 'TOOL_SPECS = {}\n', message: /TOOL_SPECS is a dict/ },
  { kind: 'specs_empty', source: SPECS, message: /Add a spec/ },
  { kind: 'specs_too_many', source: 'TOOL_SPECS = [{}] * 51\n', message: /has 51 specs; at most 50/ },
  {
    ...broken,
    kind: 'import_raised',
    source: `x = 1\n1 / 0\n${SPECS}`,
    message: /^notes\.py, line 2: .*ZeroDivisionError/,
  },
  {
    ...broken,
    kind: 'import_not_installed',
    source: `import not_there_a\nimport not_there_b\n${SPECS}`,
    message: /imports 'not_there_a', which is not installed/,
  },
  {
    ...broken,
    kind: 'import_exited',
    source: `exit()\n${SPECS}`,
    message: /calls exit\(\)\. Remove the call/,
  },
  {
    ...broken,
    kind: 'import_denied',
    source: `import socket\nsocket.socket()\n${SPECS}`,
    message: /line 2: .*The sandbox has no network/,
  },
  {
    ...broken,
    kind: 'import_denied',
    source: `import os\nos.fork()\n${SPECS}`,
    message: /The sandbox starts no processes/,
  },
  {
    code: 'MEMORY_LIMIT',
    kind: 'import_memory',
    source: `x = bytearray(1 << 40)\n${SPECS}`,
    message: /more memory.*inside a handler/,
  },
  {
    code: 'DISK_LIMIT',
    kind: 'import_disk',
    source: `f = open("big", "wb")\nfor _ in range(600): f.write(b"x" * (1 << 20))\n${SPECS}`,
    message: /Write less|disk quota/,
  },
  {
    ...broken,
    kind: 'import_crashed',
    source: `import os\nos.abort()\n${SPECS}`,
    message: /ended its process/,
  },
  {
    kind: 'spec_not_a_dict',
    source: 'TOOL_SPECS = [1]\n',
    message: /TOOL_SPECS\[0\] is an int\. Write a dict/,
  },
  {
    kind: 'name_invalid',
    source: withSpec({ name: '"notes:r un"' }),
    message: /^notes\.py, line \d+: .*this name is not allowed/,
  },
  {
    kind: 'name_prefix',
    source: withSpec({ name: '"other:run"' }),
    message: /named after its file\. Write 'notes:run'/,
  },
  {
    kind: 'description_invalid',
    source: withSpec({ description: 'None' }),
    message: /no docstring\. Say what the tool does/,
  },
  { kind: 'handler_missing', source: withSpec({ handler: 'None' }), message: /it has no handler/ },
  {
    kind: 'handler_not_callable',
    source: withSpec({ handler: '"run"' }),
    message: /is a str, which can't be called/,
  },
  { kind: 'handler_is_a_class', source: withSpec({ handler: 'Exception' }), message: /Give a function/ },
  {
    kind: 'handler_unbound',
    source: withSpec({ handler: 'C.run' }, 'class C:\n    def run(self): ...\n'),
    message: /wants 'self'/,
  },
  { kind: 'handler_generator', source: withSpec({ handler: 'lambda: (yield)' }), message: /is a generator/ },
  {
    kind: 'handler_positional_only',
    source: withSpec({ handler: 'lambda a, /: a' }),
    message: /takes 'a' by position only/,
  },
  {
    kind: 'handler_unreadable',
    source: withSpec({ handler: 'dict(a=1).update' }),
    message: /signature of update can't be read/,
  },
  {
    kind: 'parameters_invalid',
    source: withSpec({ parameters: '{"type": "string"}' }),
    message: /Write 'type': 'object'/,
  },
  {
    kind: 'parameters_too_large',
    source: withSpec({
      parameters: '{"properties": {"a": {"description": "x" * 32_768}}, "required": ["a"]}',
    }),
    message: /at most 32,768/,
  },
  {
    kind: 'parameters_contradict',
    source: withSpec({ parameters: '{"properties": {"c": {}}}' }),
    message: /have 'c', but run takes 'a' and 'b'/,
  },
  {
    kind: 'parameters_underivable',
    source: withSpec({ handler: 'typed' }, 'import threading\ndef typed(a: threading.Lock): ...\n'),
    message: /'notes:run'/,
  },
  {
    kind: 'field_invalid',
    source: withSpec({ timeoutSeconds: '"5"' }),
    message: /timeoutSeconds is not a number above 0/,
  },
  {
    kind: 'examples_invalid',
    source: withSpec({ examples: '[{"argument": {}}]' }),
    message: /did you mean 'arguments'/,
  },
]

/** What has a test of its own below, and what is no refusal: its first spec is taken. */
const ELSEWHERE = ['source_too_large', 'import_hung', 'name_repeated']

const OLD = moduleOf('notes', 'find')
const started = sharedServerWithRunner()

/** The server, with a good version of the module. */
async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'notes', OLD)
  return server
}

/** Nothing is stored, and the old version serves. */
async function expectRefused(bad: Bad): Promise<void> {
  const server = await serving()
  const before = await layerState(server)
  const answer = await errorAnswer(await upload(server, bad.name ?? 'notes', bad.source))
  expect(answer).toMatchObject({ httpStatus: 422, reason: bad.code ?? 'MODULE_INVALID' })
  expect(answer.message).toMatch(bad.message)
  expect(answer.details[0]).toMatchObject({ kind: bad.kind, message: expect.stringMatching(bad.message) })
  expect(await layerState(server)).toEqual(before)
  expect(await listedNames(server, 'names=notes:find')).toEqual(['notes:find'])
}

for (const bad of BAD)
  withPython(`${bad.kind} is told with its line and cure, and the old version serves: ${bad.message}`, () =>
    expectRefused(bad),
  )

test('each kind of fault that the guide lists is one of these', () => {
  const guide = readFileSync(new URL('../../docs/modules.md', import.meta.url), 'utf8')
  const [table = ''] = guide.slice(guide.indexOf('| kind |')).split('\n\n')
  const kinds = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, kind]) => kind)
  expect(new Set([...BAD.map(({ kind }) => kind), ...ELSEWHERE])).toEqual(new Set(kinds))
})

withPython('a module that waits for ever on import is given up, and the next upload works', async () => {
  await expectRefused({
    ...broken,
    kind: 'import_hung',
    source: `import time\n\ntime.sleep(1_000)\n${SPECS}`,
    message: /^notes\.py, line 3: importing the module did not end within 20 s\. Move/,
  })
  expect((await uploaded(await started(), 'notes', OLD)).outcome).toBe('unchanged')
})

withPython('a file above 256 KB is refused before anybody reads it', async () => {
  const server = await serving()
  const before = await layerState(server)
  const answer = await errorAnswer(await upload(server, 'notes', `#${'x'.repeat(256 * 1024)}`))
  expect(answer).toMatchObject({ httpStatus: 413, reason: 'BODY_TOO_LARGE' })
  expect(await layerState(server)).toEqual(before)
})

withPython('packages that the runner has not are listed, also those that a function imports', async () => {
  const server = await serving()
  const source = `import not_there_a, json\n${moduleOf('notes', 'find')}\ndef later():\n    import not_there_b\n`
  const answer = await errorAnswer(await upload(server, 'notes', source))
  expect(answer).toMatchObject({ httpStatus: 422, reason: 'MODULE_BROKEN' })
  const missing = answer.details.filter((detail) => 'import' in detail)
  expect(missing.map((detail) => detail['import'])).toEqual(['not_there_a', 'not_there_b'])
  expect(missing[1]).toMatchObject({
    line: expect.any(Number),
    message: expect.stringContaining('not_there_b'),
  })
  const inside = `${moduleOf('notes', 'find')}\ndef later():\n    import not_there_b\n`
  expect(await errorAnswer(await upload(server, 'notes', inside))).toMatchObject({
    httpStatus: 422,
    details: [{ reason: 'MODULE_BROKEN', kind: 'import_not_installed', import: 'not_there_b' }],
  })
  const optional = inside.replace('    import', '    try: import').concat('    except ImportError: pass\n')
  expect((await uploaded(server, 'notes', optional)).outcome).toBe('updated')
})
