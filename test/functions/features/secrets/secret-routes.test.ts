import { expect, test } from '@jest/globals'
import { SECRET_BYTES_MAX } from '../../../../functions/src/features/secrets/secret.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'

const ask = await routeService([], { audit: memoryAudit() })
const keyless = await routeService([], { governance: { ...memoryGovernance(), secretKeys: undefined } })
const VALUE = 'a value to hide'

const put = (name: string, value: unknown = VALUE, query = '', who: Asker = 'ann') =>
  ask(who, `PUT /secrets/${name}${query}`, { body: { value } })

test('a secret is stored, replaced, listed and deleted, and its value is in no answer', async () => {
  const answers = [await put('API_KEY'), await put('API_KEY', 'another value'), await put('TOKEN')]
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
  const read = await ask('ann', 'GET /secrets/API_KEY')
  expect(read).toMatchObject({ status: 200, body: { name: 'API_KEY', layer: 'user' } })
  const first = await ask('ann', 'GET /secrets?limit=1')
  expect(first.body).toMatchObject({ items: [{ name: 'API_KEY', layer: 'user' }], cursor: 'API_KEY' })
  expect(first.headers.get('link')).toBe('</workflows/secrets?limit=1&cursor=API_KEY>; rel="next"')
  const second = await ask('ann', 'GET /secrets?limit=1&cursor=API_KEY')
  expect(second.body).toMatchObject({ items: [{ name: 'TOKEN' }], cursor: null })
  expect((await ask('bob', 'GET /secrets')).body).toEqual({ items: [], cursor: null })
  expect(JSON.stringify([read, first, second].map(({ body }) => body))).not.toContain('value')
  expect(await ask('bob', 'DELETE /secrets/TOKEN')).toMatchObject({ status: 404, code: 'ITEM_NOT_FOUND' })
  expect((await ask('ann', 'DELETE /secrets/TOKEN')).status).toBe(204)
  expect(await ask('ann', 'GET /secrets/TOKEN')).toMatchObject({ status: 404, code: 'ITEM_NOT_FOUND' })
})

test('global secrets are of admins, and are other ones than those of the admin', async () => {
  expect((await put('SHARED', VALUE, '?layer=global', 'admin')).status).toBe(204)
  expect((await ask('admin', 'GET /secrets/SHARED?layer=global')).body).toMatchObject({ layer: 'global' })
  expect((await ask('admin', 'GET /secrets/SHARED')).status).toBe(404)
  for (const request of ['GET /secrets?layer=global', 'DELETE /secrets/SHARED?layer=global'])
    expect(await ask('ann', request)).toMatchObject({ status: 403, code: 'PERMISSION_DENIED' })
})

test.each<[string, string, unknown, string]>([
  ['too short', 'KEY', '1234567', 'BODY_INVALID'],
  ['too short without its blanks', 'KEY', ' 1234567\n', 'BODY_INVALID'],
  ['too long', 'KEY', 'x'.repeat(SECRET_BYTES_MAX + 1), 'BODY_INVALID'],
  ['too long in UTF-8', 'KEY', 'ö'.repeat(SECRET_BYTES_MAX / 2 + 1), 'BODY_INVALID'],
  ['half a surrogate pair', 'KEY', '\ud800 and more', 'BODY_INVALID'],
  ['not a text', 'KEY', 12_345_678, 'BODY_INVALID'],
  ['a name in small letters', 'key', VALUE, 'ITEM_NOT_FOUND'],
  ['a name that is too long', 'K'.repeat(129), VALUE, 'ITEM_NOT_FOUND'],
  ['a name with a slash', 'A%2FB', VALUE, 'ITEM_NOT_FOUND'],
])('a secret is refused that is %s, and the answer does not repeat it', async (_what, name, value, code) => {
  const answer = await put(name, value)
  expect(answer.code).toBe(code)
  if (typeof value === 'string') expect(JSON.stringify(answer.body)).not.toContain(value.slice(0, 20))
})

test('8 bytes in 3 letters, and as many bytes as there may be, are stored', async () => {
  expect((await put('KEY', '日本語')).status).toBe(204)
  expect((await put('KEY', 'ö'.repeat(SECRET_BYTES_MAX / 2))).status).toBe(204)
  expect((await ask('ann', 'PUT /secrets/KEY', { body: { value: VALUE, more: 1 } })).code).toBe(
    'BODY_INVALID',
  )
})

test('a value of as many bytes as there may be is stored, however it is escaped in JSON', async () => {
  const body = `{"value":"${String.raw`\u0001`.repeat(SECRET_BYTES_MAX)}"}`
  expect((await ask('ann', 'PUT /secrets/KEY', { body })).status).toBe(204)
})

test('a record shows no name that no secret can have, because it may be a value', async () => {
  for (const [method, name] of [
    ['PUT', 'API_KEY'],
    ['PUT', 'aValueByMistake'],
    ['DELETE', 'another-value'],
  ])
    await ask('ann', `${method} /secrets/${name}`, { body: method === 'PUT' ? { value: VALUE } : undefined })
  const { body } = await ask('admin', 'GET /audit')
  const audit = JSON.stringify(body)
  expect(audit).toContain('"names":["API_KEY"]')
  expect(audit).toContain('"names":["[redacted]"]')
  expect(audit).not.toMatch(/aValueByMistake|another-value/)
})

test('a rotation is for admins, and says what it did', async () => {
  expect((await ask('ann', 'POST /secrets/keys/rotation')).code).toBe('PERMISSION_DENIED')
  const rotated = await ask('admin', 'POST /secrets/keys/rotation')
  expect(rotated).toMatchObject({ status: 200, body: { unreadable: 0 } })
})

test('a consent is given and taken back', async () => {
  const digest = `sha256:${'d'.repeat(64)}`
  const consent = (path: string, body: object = { digest }) =>
    ask('ann', `PUT /secrets/consents/${path}`, { body })
  expect((await consent('global/shop')).status).toBe(204)
  expect((await consent('user/shop')).code).toBe('ITEM_NOT_FOUND')
  expect((await consent('file/__shop')).code).toBe('ITEM_NOT_FOUND')
  expect((await consent('file/shop', { digest: 'sha256:1' })).code).toBe('BODY_INVALID')
  const revoke = 'DELETE /secrets/consents/global/shop'
  expect([(await ask('ann', revoke)).status, (await ask('ann', revoke)).code]).toEqual([
    204,
    'ITEM_NOT_FOUND',
  ])
})

test('without a key, every route says who sets it', async () => {
  for (const [request, body] of [
    ['GET /secrets'],
    ['GET /secrets/KEY'],
    ['PUT /secrets/KEY', { value: VALUE }],
    ['DELETE /secrets/KEY'],
    ['POST /secrets/keys/rotation'],
  ] as const) {
    const answer = await keyless('admin', request, { body })
    expect([request, answer.status, answer.code]).toEqual([request, 503, 'KEYS_UNAVAILABLE'])
    expect(JSON.stringify(answer.body)).toContain('The operator sets TOOLRACK_SECRETS_KEY')
  }
})
