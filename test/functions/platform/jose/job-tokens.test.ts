import { expect, test } from '@jest/globals'
import { verify } from 'node:crypto'
import type { JobTokenClaims } from '../../../../functions/src/access/job-token.ts'
import { jobTokens, jobTokenSigner } from '../../../../functions/src/platform/jose/job-tokens.ts'
import { ecKey, jobKeysOf, NOW, NOW_SECONDS } from '../../../support/signed-tokens.ts'
import type { SigningKey } from '../../../support/signed-tokens.ts'

const DIGEST = `sha256:${'a'.repeat(64)}` as const
const [first, second, third] = [ecKey('first'), ecKey('second'), ecKey('third')]
const claims: JobTokenClaims = {
  sub: 'wf:nightly',
  uid: 'ann',
  tools: [{ name: 'READ_FILE', digest: DIGEST }],
  jti: '1',
  iat: NOW_SECONDS,
  nbf: NOW_SECONDS,
  exp: NOW_SECONDS + 600,
}
const now = (): number => NOW
const sign = (...keys: readonly SigningKey[]): Promise<string> => jobTokenSigner(jobKeysOf(...keys))(claims)
const parts = (token: string) =>
  token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object)

test('a token is ES256, names its key and its type, and says exactly what it should', async () => {
  const token = await sign(first)
  expect(parts(token)).toEqual([
    { alg: 'ES256', kid: 'first', typ: 'job+jwt' },
    { ...claims, iss: 'toolrack', aud: 'toolrack-jobs' },
  ])
  const [header = '', payload = '', signature = ''] = token.split('.')
  const key = { key: first.publicKey, dsaEncoding: 'ieee-p1363' } as const
  expect(
    verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')),
  ).toBe(true)
})

test('a token comes back as it was signed', async () => {
  expect(await jobTokens(jobKeysOf(first), now)(await sign(first))).toMatchObject(claims)
})

test('the first key signs and every key verifies; a key that was removed does not', async () => {
  const before = await sign(first)
  const rotated = jobTokens(jobKeysOf(second, first), now)
  const after = await sign(second, first)
  expect(parts(after)[0]).toMatchObject({ kid: 'second' })
  expect(await rotated(before)).toMatchObject(claims)
  expect(await rotated(after)).toMatchObject(claims)
  const retired = jobTokens(jobKeysOf(third, second), now)
  expect(await retired(after)).toMatchObject(claims)
  await expect(retired(before)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test('another key that took over the kid of an old one does not verify its tokens', async () => {
  const impostor = { ...second, kid: 'first' }
  await expect(jobTokens(jobKeysOf(impostor), now)(await sign(first))).rejects.toMatchObject({
    code: 'TOKEN_INVALID',
  })
})
