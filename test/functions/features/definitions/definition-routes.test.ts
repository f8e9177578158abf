import { expect, test } from '@jest/globals'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'

const ask = await routeService([tool('shared')])
const body = { description: 'First.' }

test('a definition is created, read, replaced and removed', async () => {
  const created = await ask('ann', 'PUT /tools/defs/life', { body })
  expect(created).toMatchObject({ status: 201, body: { outcome: 'created', name: 'life', layer: 'user' } })
  const etag = created.headers.get('ETag') ?? ''
  const read = await ask('ann', 'GET /tools/defs/life')
  expect(read).toMatchObject({ status: 200, body: { name: 'life', layer: 'user', updatedBy: 'ann' } })
  expect(read.headers.get('ETag')).toBe(etag)
  expect(read.body['definition']).toMatchObject({ function: { description: 'First.' } })
  const again = await ask('ann', 'GET /tools/defs/life', { headers: { 'If-None-Match': etag } })
  expect(again).toMatchObject({ status: 304, body: {} })
  const replaced = await ask('ann', 'PUT /tools/defs/life', { body: { description: 'Second.' } })
  expect(replaced).toMatchObject({ status: 200, body: { outcome: 'updated' } })
  expect(await ask('ann', 'DELETE /tools/defs/life')).toMatchObject({ status: 200, body: { layer: 'user' } })
  expect(await ask('ann', 'GET /tools/defs/life')).toMatchObject({ status: 404, code: 'TOOL_NOT_FOUND' })
})

test('the versions of a definition are told, and one is made the present one again', async () => {
  await ask('ann', 'PUT /tools/defs/past', { body })
  await ask('ann', 'PUT /tools/defs/past', { body: { description: 'Second.' } })
  await ask('ann', 'DELETE /tools/defs/past')
  const { status, body: answer } = await ask('ann', 'GET /tools/defs/past/versions')
  expect(status).toBe(200)
  expect(answer).toMatchObject({ name: 'past', layer: 'user', items: [{ deleted: true }, { by: 'ann' }, {}] })
  const [, , first] = answer['items'] as { digest: string }[]
  const back = await ask('ann', 'POST /tools/defs/past/rollback', { body: { digest: first?.digest } })
  expect(back).toMatchObject({ status: 200, body: { digest: first?.digest } })
  expect(back.headers.get('ETag')).toBe(`"${first?.digest}"`)
})

test('many definitions are written at once, and listed a page at a time', async () => {
  const many = ['a', 'b', 'c'].map((name) => tool(`many_${name}`))
  expect(await ask('bob', 'POST /tools/defs', { body: many })).toMatchObject({ status: 200 })
  const first = await ask('bob', 'GET /tools/defs?limit=2')
  expect(first).toMatchObject({ status: 200, body: { layer: 'user' } })
  expect(first.body['items']).toMatchObject([{ name: 'many_a' }, { name: 'many_b' }])
  const [, next = ''] = /^<\/workflows(.*)>; rel="next"$/.exec(first.headers.get('Link') ?? '') ?? []
  const second = await ask('bob', `GET ${next}`)
  expect(second.body['items']).toMatchObject([{ name: 'many_c' }])
  expect(second.headers.get('Link')).toBeNull()
})

test('a definitions file is written with the prefix of its family', async () => {
  const file = { family: 'fam', tools: [tool('one')] }
  expect(await ask('bob', 'POST /tools/defs', { body: file })).toMatchObject({ status: 200 })
  expect((await ask('bob', 'GET /tools/defs/one')).body).toMatchObject({ name: 'one' })
})

test('an admin writes the global layer, which everybody reads', async () => {
  const written = await ask('admin', 'PUT /tools/defs/ours?layer=global', { body })
  expect(written).toMatchObject({ status: 201, body: { layer: 'global' } })
  expect(await ask('bob', 'GET /tools/defs/ours?layer=global')).toMatchObject({ status: 200 })
})

const json = (value: unknown) => ({ body: value })

test.each<RefusedRow>([
  ['a page without a valid token', 'nobody', 'GET /tools/defs', {}, '401 TOKEN_INVALID'],
  ['a write without a valid token', 'nobody', 'PUT /tools/defs/a', json(body), '401 TOKEN_INVALID'],
  ['a write by a job token', 'token', 'PUT /tools/defs/a', json(body), '403 PERMISSION_DENIED'],
  ['many writes by a job token', 'token', 'POST /tools/defs', json([body]), '403 PERMISSION_DENIED'],
  ['a removal by a job token', 'token', 'DELETE /tools/defs/a', {}, '403 PERMISSION_DENIED'],
  ['versions for a job token', 'token', 'GET /tools/defs/a/versions', {}, '403 PERMISSION_DENIED'],
  ['a rollback by a job token', 'token', 'POST /tools/defs/a/rollback', json({}), '403 PERMISSION_DENIED'],
  ['a global write by a user', 'ann', 'PUT /tools/defs/a?layer=global', json(body), '403 PERMISSION_DENIED'],
  ['a write of the file layer', 'admin', 'PUT /tools/defs/a?layer=file', json(body), '400 PARAMETER_INVALID'],
  ['an unknown layer', 'ann', 'GET /tools/defs?layer=mine', {}, '400 PARAMETER_INVALID'],
  ['a cursor of nobody', 'ann', 'GET /tools/defs?cursor=x', {}, '400 PARAMETER_INVALID'],
  ['an unknown parameter', 'ann', 'GET /tools/defs/a?a=1', {}, '400 PARAMETER_UNKNOWN'],
  ['a body that is no object', 'ann', 'PUT /tools/defs/a', json([]), '400 BODY_INVALID'],
  ...['5', '"text"', 'null', 'true', '[1]'].map((text): RefusedRow => [
    `the body ${text}`,
    'ann',
    'PUT /tools/defs/a',
    json(text),
    '400 BODY_INVALID',
  ]),
  ...['"text"', 'null', 'true'].map((text): RefusedRow => [
    `the list ${text}`,
    'ann',
    'POST /tools/defs',
    json(text),
    '400 BODY_INVALID',
  ]),
  ['an empty list', 'ann', 'POST /tools/defs', json([]), '400 BODY_INVALID'],
  ['a list that is none', 'ann', 'POST /tools/defs', json(1), '400 BODY_INVALID'],
  ['a file with an unknown field', 'ann', 'POST /tools/defs', json({ tools: [], a: 1 }), '400 BODY_INVALID'],
  [
    'a precondition of many',
    'ann',
    'POST /tools/defs',
    { body: [body], headers: { 'If-Match': '*' } },
    '400 HEADER_INVALID',
  ],
  [
    'a precondition that is not valid',
    'ann',
    'PUT /tools/defs/a',
    { body, headers: { 'If-Match': 'x' } },
    '400 HEADER_INVALID',
  ],
  [
    'a precondition that does not hold',
    'ann',
    'PUT /tools/defs/none',
    { body, headers: { 'If-Match': '*' } },
    '412 PRECONDITION_FAILED',
  ],
  ...['PUT', 'DELETE'].flatMap((method) =>
    ['If-Match', 'If-None-Match'].map((name): RefusedRow => [
      `${method} with an ${name} that is not valid`,
      'ann',
      `${method} /tools/defs/a`,
      { ...(method === 'PUT' && { body }), headers: { [name]: 'W/' } },
      '400 HEADER_INVALID',
    ]),
  ),
  ['another name in the body', 'ann', 'PUT /tools/defs/a', json({ ...body, name: 'b' }), '400 NAME_MISMATCH'],
  ['another name in a function', 'ann', 'PUT /tools/defs/a', json(tool('b')), '400 NAME_MISMATCH'],
  ['an empty name', 'ann', 'PUT /tools/defs/a', json({ ...body, name: '' }), '400 NAME_MISMATCH'],
  ['another name in an id', 'ann', 'PUT /tools/defs/a', json({ id: 'b', desc: 'X.' }), '400 NAME_MISMATCH'],
  [
    'another name in defs',
    'ann',
    'PUT /tools/defs/a',
    json({ name: 'a', defs: tool('b') }),
    '400 NAME_MISMATCH',
  ],
  [
    'a description that is no text',
    'ann',
    'PUT /tools/defs/a',
    json({ description: 5 }),
    '422 DEFINITION_INVALID',
  ],
  ['a definition that is not there', 'ann', 'GET /tools/defs/none', {}, '404 TOOL_NOT_FOUND'],
  ['versions of nothing', 'ann', 'GET /tools/defs/none/versions', {}, '404 TOOL_NOT_FOUND'],
  ['the removal of nothing', 'ann', 'DELETE /tools/defs/none', {}, '404 TOOL_NOT_FOUND'],
  ...[
    {},
    { digest: 1 },
    { digest: 'a', revision: 'b' },
    { revision: null },
    { version: 'a' },
    [],
    '"x"',
    5,
    'null',
  ].map((choice): RefusedRow => [
    `a rollback with the body ${JSON.stringify(choice)}`,
    'ann',
    'POST /tools/defs/a/rollback',
    json(choice),
    '400 BODY_INVALID',
  ]),
  ['versions of the file layer', 'ann', 'GET /tools/defs/a/versions?layer=file', {}, '400 PARAMETER_INVALID'],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test('a name that is there already is refused where conflicts are errors', async () => {
  await ask('ann', 'PUT /tools/defs/taken', { body })
  const again = await ask('ann', 'POST /tools/defs?onConflict=error', { body: [tool('taken')] })
  expect(again).toMatchObject({ status: 409, code: 'NAME_TAKEN' })
})

test.each([
  { digest: `sha256:${'0'.repeat(64)}` },
  { revision: '999-000000000000' },
  { revision: '' },
  { digest: 'x' },
])('a rollback to %j, which is no version, is refused', async (choice) => {
  await ask('ann', 'PUT /tools/defs/steady', { body })
  const answer = await ask('ann', 'POST /tools/defs/steady/rollback', { body: choice })
  expect(answer).toMatchObject({ status: 404, code: 'VERSION_NOT_FOUND' })
})

test.each([
  ['GET /tools/defs?layer=all', 'The parameter layer must be user or global or file.'],
  ['GET /tools/defs?limit=0', 'The parameter limit must be a whole number from 1 to 1000.'],
  ['GET /tools/defs/a/versions?layer=file', 'The parameter layer must be user or global.'],
])('%s is a 400 that says what is allowed: %s', async (request, message) => {
  const { status, body: answer } = await ask('ann', request)
  expect([status, answer['error']]).toEqual([400, expect.objectContaining({ message })])
})
