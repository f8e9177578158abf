import { expect, test } from '@jest/globals'
import { IdTokens } from '../../../../functions/src/platform/cloud-run/id-tokens.ts'
import { GoogleCloud } from '../../../support/google-cloud.ts'

const AUDIENCE = 'https://runner-abc.a.run.app'

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

test('a token is for its audience, and the metadata server is asked for one once, however many want it', async () => {
  await using google = await GoogleCloud.start()
  const tokens = new IdTokens()
  const got = await Promise.all(Array.from({ length: 20 }, () => tokens.get(AUDIENCE)))
  got.push(await tokens.get(AUDIENCE))
  expect(new Set(got).size).toBe(1)
  expect(claimsOf(got[0] ?? '')).toMatchObject({ aud: AUDIENCE })
  expect(google.audiences).toEqual([AUDIENCE])
})

test('each audience has a client and a token of its own', async () => {
  await using google = await GoogleCloud.start()
  const tokens = new IdTokens()
  const other = 'https://other-abc.a.run.app'
  for (const audience of [AUDIENCE, other, AUDIENCE, other])
    expect(claimsOf(await tokens.get(audience))).toMatchObject({ aud: audience })
  expect(google.audiences).toEqual([AUDIENCE, other])
})

test('a token that ends in less than five minutes is replaced before it does', async () => {
  await using google = await GoogleCloud.start()
  google.tokenSeconds = 240
  const tokens = new IdTokens()
  const first = await tokens.get(AUDIENCE)
  google.tokenSeconds = 3_600
  const second = await tokens.get(AUDIENCE)
  expect(second).not.toBe(first)
  expect(await tokens.get(AUDIENCE)).toBe(second)
})

test.each(['silent', 'broken'] as const)(
  'while the metadata server is %s, a token that is still good goes on',
  async (metadata) => {
    await using google = await GoogleCloud.start()
    google.tokenSeconds = 240
    const tokens = new IdTokens({ deadlineMs: 1_000 })
    const first = await tokens.get(AUDIENCE)
    google.metadata = metadata
    expect(await tokens.get(AUDIENCE)).toBe(first)
  },
)

test('without a good token the error says whose word is missing, and the next try may succeed', async () => {
  await using google = await GoogleCloud.start()
  google.metadata = 'silent'
  const tokens = new IdTokens({ deadlineMs: 1_000 })
  await expect(tokens.get(AUDIENCE)).rejects.toMatchObject({
    message: 'this service gets no ID token from Google to show it',
    cause: expect.objectContaining({ message: 'no answer within 1000 ms' }),
  })
  google.metadata = 'here'
  const patient = new IdTokens()
  expect(claimsOf(await patient.get(AUDIENCE))).toMatchObject({ aud: AUDIENCE })
})

test('a token that was refused is not shown again', async () => {
  await using google = await GoogleCloud.start()
  const tokens = new IdTokens()
  const first = await tokens.get(AUDIENCE)
  tokens.forget(AUDIENCE)
  expect(await tokens.get(AUDIENCE)).not.toBe(first)
  expect(google.audiences).toHaveLength(2)
})
