import { expect } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { invoked } from '../support/invocation.ts'
import { sha256Of } from '../support/module-changes.ts'
import { sharedServerWithRunner, uploaded, uploadFiles } from '../support/modules.ts'
import type { ModuleBody } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'

const started = sharedServerWithRunner()
const MODULES = '/workflows/tools/modules'

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

async function said(server: Server, name: string): Promise<string> {
  return (await invoked(server, `${name}:say`))[1].textResultForLlm
}

const get = async (server: Server, path: string) => (await server.fetch(path)).json()

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

const INIT = { '__init__.py': '' }
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, number) => [`f${number}.py`, '']))

const REFUSED: readonly [what: string, files: Record<string, string>, kind: string, message: RegExp][] = [
  ['65 files', { ...INIT, ...many(64) }, 'files_too_many', /^bad\/: the module has 65 files; at most 64/],
  ['no file', {}, 'init_missing', /^bad\/: there is no __init__\.py/],
  ['no __init__.py', { 'init.py': '' }, 'init_missing', /^bad\/: there is no __init__\.py/],
  [
    'a path out of the module',
    { ...INIT, '../a.py': '' },
    'path_invalid',
    /^bad\/: '\.\.\/a\.py' is no path/,
  ],
  ['an absolute path', { ...INIT, '/etc/a.py': '' }, 'path_invalid', /^bad\/: '\/etc\/a\.py' is no path/],
  ['200 folders', { ...INIT, [`${'a/'.repeat(200)}b.py`]: '' }, 'path_invalid', /^bad\/: 'a\/a\//],
  [
    'a path that no text of Python has',
    { ...INIT, '\uffff': '', '\ud83d\ude00': '' },
    'path_invalid',
    /is no path/,
  ],
  [
    '512 KB and one byte',
    { ...INIT, 'a.txt': 'x'.repeat(512 * 1024 + 1) },
    'files_too_large',
    /^bad\/: the files have 524,289 bytes together; 524,288 are allowed\. Move/,
  ],
  [
    'a fault in a sibling',
    { '__init__.py': 'from . import a', 'a.py': 'x = (' },
    'syntax_error',
    /^bad\/a\.py, line 1: /,
  ],
  [
    'a sibling that is not there',
    { '__init__.py': `from . import b\n${one('bad')}`, 'a.py': '' },
    'import_sibling_missing',
    /^bad\/__init__\.py, line 1: /,
  ],
  ['a NUL', { ...INIT, 'a.py': '\0' }, 'source_has_nul', /^bad\/a\.py/],
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

/** A module of one file with the tool of `greeting`. */
function one(name: string): string {
  return `def say() -> str:\n    """Greets."""\n    return "alone"\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}
