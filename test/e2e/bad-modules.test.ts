import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { BAD, broken, SPECS } from '../support/bad-modules.ts'
import type { Bad } from '../support/bad-modules.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { layerState, moduleOf, sharedServerWithRunner, upload, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'

/** What only several files can do; test/python-runner/child/module/test_package.py has it. */
const OF_SEVERAL_FILES = [
  'path_invalid',
  'path_conflict',
  'files_too_many',
  'files_too_large',
  'init_missing',
  'import_circular',
]
/** What only packages can do; test/python-runner/server/packages has it. */
const OF_PACKAGES = [
  'packages_off',
  'packages_denied',
  'packages_missing',
  'packages_yanked',
  'packages_no_wheel',
  'packages_conflict',
  'packages_too_large',
  'packages_changed',
  'packages_unsafe',
  'packages_unsupported',
]
/** What has a test of its own below, and what is no refusal: its first spec is taken. */
const ELSEWHERE = ['source_too_large', 'import_hung', 'name_repeated', ...OF_SEVERAL_FILES, ...OF_PACKAGES]

const OLD = moduleOf('notes', 'find')
const started = sharedServerWithRunner()
/** Given up after 20 seconds; the other modules are checked meanwhile. */
let hanging: Promise<Response> | undefined

/** The server, with a good version of the module. */
async function serving(): Promise<Server> {
  const server = await started()
  if (!hanging) {
    await uploaded(server, 'hung', moduleOf('hung', 'find'))
    hanging = upload(server, 'hung', `import time\n\ntime.sleep(1_000)\n${SPECS}`)
  }
  await uploaded(server, 'notes', OLD)
  return server
}

/** Nothing is stored, and the old version serves. */
async function expectRefused(bad: Bad): Promise<void> {
  const server = await serving()
  const before = await layerState(server)
  expectExplained(bad, await errorAnswer(await upload(server, bad.name ?? 'notes', bad.source)))
  expect(await layerState(server)).toEqual(before)
  expect(await listedNames(server, 'names=notes:find')).toEqual(['notes:find'])
}

function expectExplained(bad: Omit<Bad, 'source'>, answer: Awaited<ReturnType<typeof errorAnswer>>): void {
  expect(answer).toMatchObject({ httpStatus: 422, reason: bad.code ?? 'MODULE_INVALID' })
  expect(answer.message).toMatch(bad.message)
  expect(answer.details[0]).toMatchObject({ kind: bad.kind, message: expect.stringMatching(bad.message) })
}

for (const bad of BAD)
  withPython(`${bad.kind} is told with its line and cure, and the old version serves: ${bad.message}`, () =>
    expectRefused(bad),
  )

test('each kind of fault that the page lists is one of these', () => {
  const page = readFileSync(new URL('../../docs/reference/module-faults.md', import.meta.url), 'utf8')
  const [table = ''] = page.slice(page.indexOf('| kind |')).split('\n\n')
  const kinds = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, kind]) => kind)
  expect(new Set([...BAD.map(({ kind }) => kind), ...ELSEWHERE])).toEqual(new Set(kinds))
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

withPython('a module that waits for ever on import is given up, and the next upload works', async () => {
  const server = await serving()
  const before = await layerState(server)
  const bad = {
    ...broken,
    kind: 'import_hung',
    message: /^hung\.py, line 3: importing the module did not end within 20 s\. Move/,
  }
  const answer = await hanging
  if (!answer) throw new Error('nothing was uploaded')
  expectExplained(bad, await errorAnswer(answer))
  expect(await layerState(server)).toEqual(before)
  expect(await listedNames(server, 'names=hung:find')).toEqual(['hung:find'])
  expect((await uploaded(server, 'hung', moduleOf('hung', 'find'))).outcome).toBe('unchanged')
})
