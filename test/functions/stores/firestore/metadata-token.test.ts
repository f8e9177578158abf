import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { MetadataToken } from '../../../../functions/src/stores/firestore/metadata-token.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

const HOUR_SECONDS = 3_600

let server: ScriptedServer
let now: number
let token: MetadataToken

beforeEach(async () => {
  server = await ScriptedServer.start()
  server.answers = ['first', 'second', 'third'].map((name) =>
    json({ access_token: name, expires_in: HOUR_SECONDS, token_type: 'Bearer' }),
  )
  now = 1_000
  token = new MetadataToken({ server: server.origin, now: () => now })
})
afterEach(() => server[Symbol.asyncDispose]())

test('is asked for as the metadata server wants it, once for everybody who needs it at the same time', async () => {
  expect(await Promise.all([token.get(), token.get(), token.get()])).toEqual(['first', 'first', 'first'])
  expect(await token.get()).toBe('first')
  const [asked, ...more] = server.asked
  expect(more).toEqual([])
  expect([asked?.url, asked?.headers['metadata-flavor']]).toEqual([
    '/computeMetadata/v1/instance/service-accounts/default/token',
    'Google',
  ])
})

test('is renewed in the last four minutes of its hour', async () => {
  await token.get()
  now += (HOUR_SECONDS - 241) * 1_000
  expect(await token.get()).toBe('first')
  now += 1_000
  expect(await token.get()).toBe('second')
})

test('that was refused is not used again', async () => {
  await token.get()
  token.forget()
  expect(await token.get()).toBe('second')
})

test('goes on until its end when there is no new one', async () => {
  await token.get()
  server.answers = [json({}, 503)]
  now += (HOUR_SECONDS - 1) * 1_000
  expect(await token.get()).toBe('first')
  now += 1_000
  await expect(token.get()).rejects.toThrow('the metadata server gave no access token: it answered 503')
  server.answers = [json({ access_token: 'late', expires_in: HOUR_SECONDS })]
  expect(await token.get()).toBe('late')
})

test.each([[json([])], [json({ access_token: 7, expires_in: 1 })], [json({ access_token: 'x' })]])(
  'is not made of anything else that the server says',
  async (answer) => {
    server.answers = [answer]
    await expect(token.get()).rejects.toThrow('it answered something else')
  },
)

test('a server that is not there is a fault that says so', async () => {
  const nobody = new MetadataToken({ server: 'http://127.0.0.1:9' })
  await expect(nobody.get()).rejects.toThrow(/gave no access token: connect ECONNREFUSED/)
})
