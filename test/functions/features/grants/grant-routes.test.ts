import { expect, test } from '@jest/globals'
import { grantsDigest, type Grant, type ToolDefinition } from '@toolrack/contract'
import { askingModule, askingRunner } from '../../../support/asking-runner.ts'
import { routeService, type Asked, type Answered, type Asker } from '../../../support/route-service.ts'

const ask = await routeService([], { runner: askingRunner() })

const network = (...hosts: readonly string[]): readonly Grant[] =>
  hosts.map((value) => ({ kind: 'network', value }))
const HOST = ['network a.example.com']
const OF_HOST = grantsDigest(network('a.example.com'))

function put(name: string, asks: readonly string[], query = '', who: Asker = 'ann'): Promise<Answered> {
  return ask(who, `PUT /tools/modules/${name}${query}`, { body: askingModule(name, asks) })
}

function accept(name: string, digest: unknown, query = '', who: Asker = 'ann'): Promise<Answered> {
  return ask(who, `POST /tools/modules/${name}/grants${query}`, { body: { digest } })
}

function stateOf(name: string, query = '', who: Asker = 'ann'): Promise<Answered> {
  return ask(who, `GET /tools/modules/${name}/grants${query}`)
}

async function listed(module: string, who: Asker = 'ann'): Promise<readonly string[]> {
  const { body } = await ask(who, `GET /tools/list?category=${module}`)
  return (body as unknown as ToolDefinition[]).map((each) => each.function.name)
}

test('a module that asks for nothing waits for nothing', async () => {
  const answer = await put('plain', [])
  expect(answer).toMatchObject({
    status: 201,
    body: { grants: [], grantsDigest: grantsDigest([]), pending: false },
  })
  expect(answer.body).not.toHaveProperty('message')
  expect(await listed('plain')).toEqual(['plain:it'])
  expect((await stateOf('plain')).body).toMatchObject({ state: 'none', acceptedBy: null })
})

test('a module with grants waits until they are accepted, and waits again when that is revoked', async () => {
  const answer = await put('asks', ['secrets KEY', ...HOST])
  const grants = [...network('a.example.com'), { kind: 'secrets', value: 'KEY' }]
  const digest = answer.body['grantsDigest']
  expect(answer).toMatchObject({
    status: 201,
    body: { grants, pending: true, tools: { added: ['asks:it'] } },
  })
  expect(answer.body['message']).toContain('asks for network a.example.com; secrets KEY.')
  expect(answer.body['message']).toContain('npm run grants -- accept asks on')
  expect(answer.body['message']).toContain(
    `POST /workflows/tools/modules/asks/grants with {"digest":"${String(digest)}"}`,
  )
  expect(await listed('asks')).toEqual([])
  const pending = { module: 'asks', layer: 'user', grants, grantsDigest: digest, state: 'pending' }
  expect((await stateOf('asks')).body).toEqual({ ...pending, acceptedBy: null, acceptedAt: null })
  expect((await ask('ann', 'GET /tools/grants?state=pending')).body['items']).toContainEqual({
    ...pending,
    tools: ['asks:it'],
  })
  const accepted = { ...pending, state: 'accepted', acceptedBy: 'ann', acceptedAt: expect.any(String) }
  expect(await accept('asks', digest)).toMatchObject({ status: 200, body: accepted })
  expect(await listed('asks')).toEqual(['asks:it'])
  expect((await stateOf('asks')).body).toEqual(accepted)
  expect((await ask('ann', 'GET /tools/grants?state=accepted')).body['items']).toContainEqual({
    ...pending,
    state: 'accepted',
    tools: ['asks:it'],
  })
  expect((await ask('ann', 'DELETE /tools/modules/asks/grants')).body).toMatchObject({ state: 'pending' })
  expect(await listed('asks')).toEqual([])
})

test('another digest is a 409 that names the present one, and changes nothing', async () => {
  await put('other', HOST)
  const wrong = grantsDigest(network('b.example.com'))
  const answer = await accept('other', wrong)
  expect(answer).toMatchObject({ status: 409, code: 'DIGEST_CHANGED' })
  expect(JSON.stringify(answer.body)).toContain(OF_HOST)
  expect((await stateOf('other')).body).toMatchObject({ state: 'pending' })
})

test('the same grants again need no new consent, and others do; so do the first ones after a revocation', async () => {
  await put('again', HOST)
  await accept('again', OF_HOST)
  const again = await ask('ann', 'PUT /tools/modules/again', { body: `${askingModule('again', HOST)}# 2` })
  expect(again.body).toMatchObject({ outcome: 'updated', pending: false })
  expect((await put('again', ['network b.example.com'])).body).toMatchObject({ pending: true })
  expect(await listed('again')).toEqual([])
  expect((await put('again', HOST)).body).toMatchObject({ pending: false })
  await ask('ann', 'DELETE /tools/modules/again/grants')
  expect((await put('again', HOST)).body).toMatchObject({ pending: true })
  await accept('again', OF_HOST)
  await ask('ann', 'DELETE /tools/modules/again')
  expect((await put('again', HOST)).body).toMatchObject({ pending: true })
})

test('an upload and a rollback can accept what they ask for, and nothing else', async () => {
  const wrong = await put('with', HOST, `?acceptGrants=${grantsDigest([])}`)
  expect(wrong).toMatchObject({ status: 409, code: 'DIGEST_CHANGED' })
  expect((await ask('ann', 'GET /tools/modules/with')).status).toBe(404)
  expect((await put('with', HOST, '?acceptGrants=yes')).code).toBe('PARAMETER_INVALID')
  const first = await put('with', HOST, `?acceptGrants=${OF_HOST}`)
  expect(first).toMatchObject({ status: 201, body: { pending: false } })
  await put('with', [])
  await ask('ann', 'DELETE /tools/modules/with/grants')
  const roll = (query: string): Promise<Answered> =>
    ask('ann', `POST /tools/modules/with/rollback${query}`, { body: { sha256: first.body['sha256'] } })
  expect((await roll('')).body).toMatchObject({ pending: true })
  expect((await roll(`?acceptGrants=${grantsDigest([])}`)).status).toBe(409)
  expect(await listed('with')).toEqual([])
  expect((await roll(`?acceptGrants=${OF_HOST}`)).body).toMatchObject({ pending: false })
  expect(await listed('with')).toEqual(['with:it'])
})

test('who may not govern can upload but not accept, with or without an upload', async () => {
  await put('plain_job', HOST)
  const upload = await put('accepting', HOST, `?acceptGrants=${OF_HOST}`, 'account')
  expect(upload).toMatchObject({ status: 403, code: 'PERMISSION_DENIED' })
  expect((await ask('ann', 'GET /tools/modules/accepting')).status).toBe(404)
  for (const who of ['account', 'token'] as const)
    expect(await accept('plain_job', OF_HOST, '', who)).toMatchObject({ status: 403 })
  expect((await put('plain_job', HOST, '', 'account')).body).toMatchObject({ pending: true })
})

test('only an admin decides about the global layer', async () => {
  await put('shared', HOST, '?layer=global', 'admin')
  expect(await accept('shared', OF_HOST, '?layer=global')).toMatchObject({ status: 403 })
  expect(await stateOf('shared', '?layer=global')).toMatchObject({ status: 404 })
  expect((await ask('ann', 'GET /tools/grants')).body['items']).not.toContainEqual(
    expect.objectContaining({ module: 'shared' }),
  )
  expect((await ask('admin', 'GET /tools/grants?state=pending')).body['items']).toContainEqual(
    expect.objectContaining({ module: 'shared', layer: 'global' }),
  )
  expect(await accept('shared', OF_HOST, '?layer=global', 'admin')).toMatchObject({ status: 200 })
  expect(await listed('shared')).toEqual(['shared:it'])
})

test.each<readonly [string, Asker, string, Asked, string]>([
  [
    'a module that does not exist',
    'ann',
    'POST /tools/modules/none/grants',
    { body: { digest: OF_HOST } },
    '404 MODULE_NOT_FOUND',
  ],
  ['no module name', 'ann', 'GET /tools/modules/a%2Fb/grants', {}, '404 MODULE_NOT_FOUND'],
  ['no digest', 'ann', 'POST /tools/modules/asks/grants', { body: {} }, '400 BODY_INVALID'],
  [
    'a text that is no digest',
    'ann',
    'POST /tools/modules/asks/grants',
    { body: { digest: 'x' } },
    '400 BODY_INVALID',
  ],
  [
    'another field',
    'ann',
    'POST /tools/modules/asks/grants',
    { body: { digest: OF_HOST, all: true } },
    '400 BODY_INVALID',
  ],
  ['another layer', 'ann', 'DELETE /tools/modules/asks/grants?layer=other', {}, '400 PARAMETER_INVALID'],
  ['another state', 'ann', 'GET /tools/grants?state=none', {}, '400 PARAMETER_INVALID'],
  [
    'the file layer, by no admin',
    'ann',
    'DELETE /tools/modules/asks/grants?layer=file',
    {},
    '403 PERMISSION_DENIED',
  ],
  [
    'the file layer without a folder',
    'admin',
    'GET /tools/modules/asks/grants?layer=file',
    {},
    '404 MODULE_NOT_FOUND',
  ],
  ['a revocation of no module', 'ann', 'DELETE /tools/modules/none/grants', {}, '404 MODULE_NOT_FOUND'],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

const POLICIES = {
  ask: ask,
  packages: await routeService([], { runner: askingRunner(), settings: { TOOLRACK_GRANTS: 'packages' } }),
  accept: await routeService([], { runner: askingRunner(), settings: { TOOLRACK_GRANTS: 'accept' } }),
}

test.each<readonly [keyof typeof POLICIES, readonly string[], boolean]>([
  ['ask', ['packages pandas>=2'], true],
  ['packages', ['packages pandas>=2'], false],
  ['packages', ['packages pandas>=2', ...HOST], true],
  ['packages', HOST, true],
  ['accept', ['packages pandas>=2', ...HOST, 'secrets KEY'], false],
])('with TOOLRACK_GRANTS=%s a module that asks for %j waits: %s', async (policy, asks, isPending) => {
  const by = POLICIES[policy]
  const body = askingModule('policy', asks)
  expect((await by('ann', 'PUT /tools/modules/policy', { body })).body).toMatchObject({ pending: isPending })
  const state = (await by('ann', 'GET /tools/modules/policy/grants')).body
  expect(state).toMatchObject(
    isPending ? { state: 'pending' } : { state: 'accepted', acceptedBy: 'TOOLRACK_GRANTS' },
  )
  await by('ann', 'DELETE /tools/modules/policy')
})

test('no upload undoes a revocation where the operator accepts all: not of other grants, and not after a deletion', async () => {
  const by = POLICIES.accept
  const isPending = async (...asks: readonly string[]): Promise<unknown> =>
    (await by('ann', 'PUT /tools/modules/undone', { body: askingModule('undone', asks) })).body['pending']
  expect(await isPending(...HOST)).toBe(false)
  await by('ann', 'DELETE /tools/modules/undone/grants')
  expect([await isPending(...HOST, 'network b.example.com'), await isPending(...HOST)]).toEqual([true, true])
  await by('ann', 'DELETE /tools/modules/undone')
  expect(await isPending(...HOST)).toBe(true)
  await by('ann', 'POST /tools/modules/undone/grants', { body: { digest: OF_HOST } })
  expect(await isPending(...HOST, 'network b.example.com')).toBe(false)
})

test('packages that are added to accepted grants need no consent where the operator accepts packages', async () => {
  const by = POLICIES.packages
  const put = (...asks: readonly string[]): Promise<Answered> =>
    by('ann', 'PUT /tools/modules/grows', { body: askingModule('grows', asks) })
  await put(...HOST)
  await by('ann', 'POST /tools/modules/grows/grants', { body: { digest: OF_HOST } })
  expect((await put(...HOST, 'packages pandas')).body).toMatchObject({ pending: false })
  expect((await put(...HOST, 'packages pandas', 'secrets KEY')).body).toMatchObject({ pending: true })
})

test('a consent to older grants never accepts newer ones, in any order', async () => {
  for (let round = 0; round < 10; round += 1) {
    await ask('ann', 'DELETE /tools/modules/raced')
    await put('raced', HOST)
    const newer = ['network b.example.com', `network c${round}.example.com`]
    await Promise.all([put('raced', newer), accept('raced', OF_HOST)])
    expect((await stateOf('raced')).body).toMatchObject({ state: 'pending' })
    expect(await listed('raced')).toEqual([])
  }
})

test('a revocation during an upload of the same grants is not lost', async () => {
  for (let round = 0; round < 10; round += 1) {
    await put('revoked', HOST)
    await accept('revoked', OF_HOST)
    const body = `${askingModule('revoked', HOST)}# ${round}`
    await Promise.all([
      ask('ann', 'PUT /tools/modules/revoked', { body }),
      ask('ann', 'DELETE /tools/modules/revoked/grants'),
    ])
    expect((await stateOf('revoked')).body).toMatchObject({ state: 'pending' })
    expect(await listed('revoked')).toEqual([])
  }
})
