import type { JsonObject } from '@toolrack/contract'
import { afterAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { list, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

type Version = {
  readonly revision: string
  readonly digest?: string
  readonly deleted: boolean
  readonly by: string
  readonly at: string
  readonly definition?: { function: { description: string } }
}
async function versions(name: string): Promise<readonly Version[]> {
  const answer = await server.fetch(`/workflows/tools/defs/${name}/versions`)
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { items: Version[] }).items
}
function rollback(name: string, choice: unknown): Promise<Response> {
  const body = JSON.stringify(choice)
  return server.fetch(`/workflows/tools/defs/${name}/rollback`, { method: 'POST', body })
}
async function description(name: string): Promise<string | undefined> {
  return (await list(server, `names=${name}`))[0]?.function.description
}

test('versions are the newest first, with who and when, a deletion among them', async () => {
  await put(server, 'history', tool('history', 'One.'))
  await put(server, 'history', tool('history', 'Two.'))
  await remove(server, 'history')
  await put(server, 'history', tool('history', 'Three.'))
  const items = await versions('history')
  expect(items.map((item) => item.definition?.function.description ?? item.deleted)).toEqual([
    'Three.',
    true,
    'Two.',
    'One.',
  ])
  expect(new Set(items.map(({ revision }) => revision)).size).toBe(4)
  for (const { by, at } of items) {
    expect(by).toBe('local')
    expect(new Date(at).toISOString()).toBe(at)
  }
})

test('the last 50 versions are kept, and the 51st can not be rolled back to', async () => {
  let first = ''
  for (let count = 1; count <= 51; count += 1) {
    const answer = await put(server, 'capped', tool('capped', `Version ${count}.`))
    if (count === 1) first = ((await answer.json()) as { revision: string }).revision
  }
  const items = await versions('capped')
  expect(items).toHaveLength(50)
  expect(items.at(-1)?.definition?.function.description).toBe('Version 2.')
  expect(await errorAnswer(await rollback('capped', { revision: first }))).toMatchObject({
    httpStatus: 404,
    reason: 'VERSION_NOT_FOUND',
  })
  expect((await rollback('capped', { revision: items.at(-1)?.revision })).status).toBe(200)
  expect(await description('capped')).toBe('Version 2.')
})

test('a rollback by revision or digest puts the older content back as a new version', async () => {
  await put(server, 'rolled', tool('rolled', 'One.'))
  await put(server, 'rolled', tool('rolled', 'Two.'))
  const [two, one] = await versions('rolled')
  const answer = await rollback('rolled', { digest: one?.digest })
  expect(answer.headers.get('etag')).toBe(`"${one?.digest}"`)
  expect(await answer.json()).toMatchObject({ outcome: 'updated', digest: one?.digest, normalised: [] })
  expect(await description('rolled')).toBe('One.')
  await rollback('rolled', { revision: two?.revision })
  expect(await description('rolled')).toBe('Two.')
  expect(await versions('rolled')).toHaveLength(4)
})

test('a rollback to what is current changes nothing', async () => {
  await put(server, 'current', tool('current'))
  const [now] = await versions('current')
  expect(await (await rollback('current', { digest: now?.digest })).json()).toMatchObject({
    outcome: 'unchanged',
    revision: now?.revision,
  })
  expect(await versions('current')).toHaveLength(1)
})

test('a deleted definition can be rolled back, and the deletion itself can not be rolled back to', async () => {
  const original = tool('revived', 'Alive.', { tags: ['kept'], runner: { kind: 'builtin' } })
  await put(server, 'revived', original)
  await remove(server, 'revived')
  const [deletion, alive] = await versions('revived')
  expect(await errorAnswer(await rollback('revived', { revision: deletion?.revision }))).toMatchObject({
    httpStatus: 404,
    reason: 'VERSION_NOT_FOUND',
  })
  expect((await rollback('revived', { revision: alive?.revision })).status).toBe(200)
  const read = (await (await server.fetch('/workflows/tools/defs/revived')).json()) as {
    definition: JsonObject
  }
  expect(read.definition).toEqual(original)
})

test.each([
  { digest: `sha256:${'0'.repeat(64)}` },
  { revision: '999-000000000000' },
  { revision: '' },
  { digest: 'x' },
])('a rollback to %j, which is no version, is a 404 that says so', async (choice) => {
  await put(server, 'steady', tool('steady'))
  expect(await errorAnswer(await rollback('steady', choice))).toMatchObject({
    httpStatus: 404,
    reason: 'VERSION_NOT_FOUND',
  })
})

test.each([
  {},
  { digest: 1 },
  { digest: 'a', revision: 'b' },
  { revision: null },
  { version: 'a' },
  [],
  'x',
  5,
  null,
])('a rollback with the body %j is a 400 that shows the two forms', async (choice) => {
  await put(server, 'steady', tool('steady'))
  expect(await errorAnswer(await rollback('steady', choice))).toMatchObject({
    httpStatus: 400,
    reason: 'BODY_INVALID',
  })
})

test('versions outlive a restart, and each layer has its own', async () => {
  await put(server, 'layered', tool('layered', 'User.'))
  await put(server, 'layered', tool('layered', 'Global.'), { layer: 'global' })
  const before = await versions('layered')
  await server.stop()
  await server.restart()
  expect(await versions('layered')).toEqual(before)
  const answer = await server.fetch('/workflows/tools/defs/layered/versions?layer=global')
  const { items } = (await answer.json()) as { items: Version[] }
  expect(items.map((item) => item.definition?.function.description)).toEqual(['Global.'])
})
