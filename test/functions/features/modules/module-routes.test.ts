import { expect, test } from '@jest/globals'
import { createHash } from 'node:crypto'
import { sha256Of } from '../../../support/module-changes.ts'
import { moduleOf } from '../../../support/modules.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'

const ask = await routeService()
const NOTES = moduleOf('notes', 'read')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

test('a module is uploaded, read, replaced and removed, with its tools', async () => {
  const created = await ask('ann', 'PUT /tools/modules/notes', { body: NOTES })
  expect(created).toMatchObject({
    status: 201,
    body: { outcome: 'created', tools: { added: ['notes:read'] } },
  })
  const etag = `"${sha256(NOTES)}"`
  expect(created.headers.get('ETag')).toBe(etag)
  const read = await ask('ann', 'GET /tools/modules/notes')
  expect(read).toMatchObject({ status: 200, body: { name: 'notes', layer: 'user', source: NOTES } })
  expect(await ask('ann', 'GET /tools/modules/notes', { headers: { 'If-None-Match': etag } })).toMatchObject({
    status: 304,
    body: {},
  })
  const replaced = await ask('ann', 'PUT /tools/modules/notes', { body: moduleOf('notes', 'write') })
  expect(replaced).toMatchObject({ status: 200, body: { tools: { added: ['notes:write'] } } })
  expect(await ask('ann', 'DELETE /tools/modules/notes')).toMatchObject({ status: 200 })
  expect(await ask('ann', 'GET /tools/defs/notes:write')).toMatchObject({ code: 'TOOL_NOT_FOUND' })
})

test('a source comes in JSON too, and is the same module', async () => {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await ask('bob', 'PUT /tools/modules/notes', { body: { source: NOTES }, headers })
  expect(answer).toMatchObject({ status: 201, body: { sha256: sha256(NOTES) } })
})

test('the versions of a module are told, and one is made the present one again', async () => {
  await ask('ann', 'PUT /tools/modules/past', { body: moduleOf('past', 'a') })
  await ask('ann', 'PUT /tools/modules/past', { body: moduleOf('past', 'b') })
  await ask('ann', 'DELETE /tools/modules/past')
  const { status, body } = await ask('ann', 'GET /tools/modules/past/versions')
  expect(status).toBe(200)
  expect(body).toMatchObject({ name: 'past', layer: 'user', items: [{ deleted: true }, {}, {}] })
  const digest = sha256(moduleOf('past', 'a'))
  const back = await ask('ann', 'POST /tools/modules/past/rollback', { body: { sha256: digest } })
  expect(back).toMatchObject({ status: 200, body: { sha256: digest, tools: { added: ['past:a'] } } })
})

test('modules are listed by name, a page at a time, without their sources', async () => {
  for (const name of ['a', 'b', 'c'])
    await ask('admin', `PUT /tools/modules/${name}?layer=global`, { body: moduleOf(name, 'it') })
  const first = await ask('admin', 'GET /tools/modules?layer=global&limit=2')
  expect(first).toMatchObject({
    status: 200,
    body: { layer: 'global', items: [{ name: 'a' }, { name: 'b' }] },
  })
  expect(JSON.stringify(first.body)).not.toContain('TOOL_SPECS')
  const [, next = ''] = /^<\/workflows(.*)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? []
  const second = await ask('admin', `GET ${next}`)
  expect(second.body).toMatchObject({ items: [{ name: 'c' }] })
  expect(second.headers.get('Link')).toBeNull()
})

test('modules of the global layer are hidden from everybody but admins', async () => {
  await ask('admin', 'PUT /tools/modules/hidden?layer=global', { body: moduleOf('hidden', 'it') })
  expect((await ask('ann', 'GET /tools/modules?layer=global')).body).toEqual({ layer: 'global', items: [] })
  for (const path of ['hidden', 'hidden/versions'])
    expect(await ask('ann', `GET /tools/modules/${path}?layer=global`)).toMatchObject({
      status: 404,
      code: 'MODULE_NOT_FOUND',
    })
})

const json = { 'Content-Type': 'application/json' }

test.each<RefusedRow>([
  ['a page without a valid token', 'nobody', 'GET /tools/modules', {}, '401 TOKEN_INVALID'],
  ['an upload without a valid token', 'nobody', 'PUT /tools/modules/a', { body: NOTES }, '401 TOKEN_INVALID'],
  ['an upload by a job token', 'token', 'PUT /tools/modules/a', { body: NOTES }, '403 PERMISSION_DENIED'],
  ['a removal by a job token', 'token', 'DELETE /tools/modules/a', {}, '403 PERMISSION_DENIED'],
  ['a rollback by a job token', 'token', 'POST /tools/modules/a/rollback', {}, '403 PERMISSION_DENIED'],
  ['a source for a job token', 'token', 'GET /tools/modules/a', {}, '404 MODULE_NOT_FOUND'],
  [
    'a global upload by a user',
    'ann',
    'PUT /tools/modules/a?layer=global',
    { body: NOTES },
    '403 PERMISSION_DENIED',
  ],
  ['the file layer', 'admin', 'GET /tools/modules?layer=file', {}, '400 PARAMETER_INVALID'],
  ['a cursor of nobody', 'ann', 'GET /tools/modules?cursor=-', {}, '400 PARAMETER_INVALID'],
  ['an unknown parameter', 'ann', 'GET /tools/modules/a?a=1', {}, '400 PARAMETER_UNKNOWN'],
  [
    'a picture',
    'ann',
    'PUT /tools/modules/a',
    { body: 'x', headers: { 'Content-Type': 'image/png' } },
    '400 HEADER_INVALID',
  ],
  ['JSON without a source', 'ann', 'PUT /tools/modules/a', { body: {}, headers: json }, '400 BODY_INVALID'],
  [
    'a source in JSON that is too large',
    'ann',
    'PUT /tools/modules/a',
    { body: { source: 'x'.repeat(256 * 1024 + 1) }, headers: json },
    '413 BODY_TOO_LARGE',
  ],
  ['a module that is not there', 'ann', 'GET /tools/modules/none', {}, '404 MODULE_NOT_FOUND'],
  ['versions of nothing', 'ann', 'GET /tools/modules/none/versions', {}, '404 MODULE_NOT_FOUND'],
  ['the removal of nothing', 'ann', 'DELETE /tools/modules/none', {}, '404 MODULE_NOT_FOUND'],
  ['a rollback to no version', 'ann', 'POST /tools/modules/a/rollback', { body: {} }, '400 BODY_INVALID'],
  [
    'a precondition that does not hold',
    'ann',
    'PUT /tools/modules/none',
    { body: NOTES, headers: { 'If-Match': '*' } },
    '412 PRECONDITION_FAILED',
  ],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test('JSON that is sent as Python is told which header it lacks', async () => {
  for (const headers of [{}, { 'Content-Type': 'application/x-www-form-urlencoded' }])
    expect(await ask('ann', 'PUT /tools/modules/bad', { body: ' {"files": {}}', headers })).toMatchObject({
      status: 400,
      code: 'HEADER_INVALID',
      body: { error: { message: 'A module in JSON needs the Content-Type application/json.' } },
    })
  const python = `{"a": 1}\n${moduleOf('odd', 'a')}`
  expect(await ask('ann', 'PUT /tools/modules/odd', { body: python })).toMatchObject({ status: 201 })
})

const files = { '__init__.py': moduleOf('several', 'read'), 'data/a.json': '{}' }

test('several files are one module, and come back by their paths', async () => {
  const created = await ask('ann', 'PUT /tools/modules/several', { body: { files }, headers: json })
  expect(created).toMatchObject({ status: 201, body: { tools: { added: ['several:read'] } } })
  const { body } = await ask('ann', 'GET /tools/modules/several')
  expect(body).toMatchObject({ files, sha256: sha256Of(files) })
  expect(body).not.toHaveProperty('source')
})

test.each<[what: string, body: string, message: RegExp]>([
  ['what is no JSON', '{"files"', /^The body is not valid JSON \(it ends too early\)\.$/],
  ['a list', '[]', /must be a JSON object/],
  [
    'a field that is misspelt',
    '{"file": {"__init__.py": ""}}',
    /Did you mean 'files'\? It must be \{"source"/,
  ],
  ['a field that nothing is like', '{"files": {}, "name": "x"}', /a field that it cannot have\. It must be/],
  ['source and files', '{"source": "", "files": {}}', /^The body must be \{"source": "…"\} or \{"files"/],
  ['files that are a list', '{"files": [["__init__.py", ""]]}', /^The field files must be an object/],
  [
    'a file that is no text',
    '{"files": {"a.py": 1}}',
    /^The field files\["a\.py"\] must be the text of a file\.$/,
  ],
  ['a file that is null', '{"files": {"a.py": null}}', /^The field files\["a\.py"\] must be the text/],
  ['a file in a file', '{"files": {"sub": {"a.py": ""}}}', /^The field files\["sub"\] must be the text/],
  ['half a character', '{"files": {"a.py": "\\ud83d"}}', /^The field files\["a\.py"\] has a lone surrogate/],
  ['half a character in a path', '{"files": {"\\ud83d": ""}}', /has a path with a lone surrogate/],
  ['half a character in a source', '{"source": "\\ud83d"}', /^The field source has a lone surrogate/],
  ['a path twice', '{"files": {"a.py": "1", "a.py": "2"}}', /the same key twice/],
  ['a path that is __proto__', '{"files": {"__proto__": ""}}', /__proto__/],
])('a module with %s is refused, and the message says why', async (_what, body, message) => {
  const answer = await ask('ann', 'PUT /tools/modules/bad', { body, headers: json })
  expect(answer).toMatchObject({
    status: 400,
    code: 'BODY_INVALID',
    body: { error: { message: expect.stringMatching(message) } },
  })
})

const upload = (name: string, sent: object) =>
  ask('ann', `PUT /tools/modules/${name}`, { body: { files: sent }, headers: json })

test('too many files are refused before they are sorted and hashed', async () => {
  const more = Object.fromEntries(Array.from({ length: 63 }, (_, at) => [`f${at}.py`, '']))
  const most = { ...more, '__init__.py': moduleOf('many', 'read') }
  expect(await upload('many', { ...most, 'a.json': '{}' })).toMatchObject({
    status: 422,
    code: 'MODULE_INVALID',
    body: { error: { message: expect.stringMatching(/^many\/: the module has 65 files; at most 64/) } },
  })
  expect(await upload('many', most)).toMatchObject({ status: 201 })
})

test('a tool of a module is changed by its module alone', async () => {
  await ask('ann', 'PUT /tools/modules/kept', { body: moduleOf('kept', 'it') })
  const write = await ask('ann', 'PUT /tools/defs/kept:it', { body: { description: 'Mine.' } })
  expect(write).toMatchObject({ status: 409, code: 'MANAGED_BY_MODULE' })
})
