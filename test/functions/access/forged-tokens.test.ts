import { afterAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Credentials } from '../../../functions/src/access/authenticate.ts'
import { inProcess } from '../../support/in-process.ts'
import {
  base64,
  ecKey,
  hmacSigned,
  NOW,
  NOW_SECONDS,
  publicJwk,
  rsaKey,
  signed,
  signedText,
  unsigned,
} from '../../support/signed-tokens.ts'
import type { TokenKind } from '../../support/signed-tokens.ts'
import {
  ACCOUNT,
  deployedAccess,
  DIGEST,
  FIREBASE,
  JOB,
  KINDS,
  OIDC,
  PROJECT,
} from '../../support/token-kinds.ts'

const access = deployedAccess(() => NOW)
const service = await inProcess(access)
afterAll(() => service[Symbol.asyncDispose]())

const attacker = { RS256: rsaKey('attacker'), ES256: ecKey('attacker') }
const YEAR = 365 * 24 * 3_600

/** What anybody may try who has seen a genuine token and knows every public key, by what is wrong with it. */
const FORGERIES: Readonly<Record<string, (kind: TokenKind) => string>> = {
  expired: (kind) => signed(kind, { exp: NOW_SECONDS - 1 }),
  'expiring at this moment': (kind) => signed(kind, { exp: NOW_SECONDS }),
  'expired long ago': (kind) =>
    signed(kind, { iat: NOW_SECONDS - 2 * YEAR, exp: NOW_SECONDS - 2 * YEAR + 300 }),
  'not yet valid': (kind) => signed(kind, { nbf: NOW_SECONDS + 6 }),
  'issued in the future': (kind) => signed(kind, { iat: NOW_SECONDS + 6, exp: NOW_SECONDS + 300 }),
  'issued after it expires': (kind) => signed(kind, { iat: NOW_SECONDS + 4, exp: NOW_SECONDS + 3 }),
  'a lifetime of ten years': (kind) => signed(kind, { exp: NOW_SECONDS - 60 + 10 * YEAR }),
  'a lifetime of ten years, from five years ago': (kind) =>
    signed(kind, { iat: NOW_SECONDS - 5 * YEAR, exp: NOW_SECONDS + 5 * YEAR }),
  'a lifetime one second too long': (kind) =>
    signed(kind, { exp: NOW_SECONDS - 60 + kind.lifetimeSecondsMax + 1 }),
  'a lifetime without end': (kind) => withClaimText(kind, 'exp', '1e999'),
  'a life since ever': (kind) => withClaimText(kind, 'iat', '-1e999'),
  'a foreign audience': (kind) => signed(kind, { aud: 'another-project' }),
  'a list of foreign audiences': (kind) => signed(kind, { aud: ['another-project', 'toolrack-runner'] }),
  'an audience that only contains ours': (kind) => signed(kind, { aud: `${String(kind.claims['aud'])}x` }),
  'no audience': (kind) => signed(kind, { aud: undefined }),
  'a foreign issuer': (kind) => signed(kind, { iss: 'https://securetoken.google.com/another-project' }),
  'no issuer': (kind) => signed(kind, { iss: undefined }),
  'alg none': (kind) => unsigned({ alg: 'none', kid: kind.key.kid, typ: kind.typ }, kind.claims),
  'alg none in other letters': (kind) =>
    unsigned({ alg: 'nOnE', kid: kind.key.kid, typ: kind.typ }, kind.claims),
  'alg none with a signature': (kind) => signed(kind, {}, { alg: 'none' }),
  'no alg': (kind) => signed(kind, {}, { alg: undefined }),
  'HS256 with the public key as PEM': (kind) => hmacForged(kind, pem(kind)),
  'HS256 with the public key as JWK': (kind) => hmacForged(kind, JSON.stringify(publicJwk(kind.key))),
  'HS256 with the public key as DER': (kind) =>
    hmacForged(kind, kind.key.publicKey.export({ type: 'spki', format: 'der' })),
  'another algorithm of the same key': (kind) =>
    signed(kind, {}, { alg: kind.key.alg === 'RS256' ? 'PS256' : 'ES384' }),
  'an algorithm of another kind of key': (kind) =>
    signed(kind, {}, { alg: kind.key.alg === 'RS256' ? 'ES256' : 'RS256' }),
  'an embedded key': (kind) => signed(kind, {}, { jwk: publicJwk(other(kind)), kid: undefined }, other(kind)),
  'an embedded key under the right kid': (kind) =>
    signed(kind, {}, { jwk: publicJwk(other(kind)) }, other(kind)),
  'an address of keys': (kind) =>
    signed(kind, {}, { jku: 'https://attacker.example/keys', kid: 'attacker' }, other(kind)),
  'an address of certificates': (kind) =>
    signed(kind, {}, { x5u: 'https://attacker.example/x5u' }, other(kind)),
  'another key under the right kid': (kind) => signed(kind, {}, {}, other(kind)),
  'a kid that no key has': (kind) => signed(kind, {}, { kid: 'unknown' }),
  'the kid of a file': (kind) => signed(kind, {}, { kid: '../../../dev/null' }),
  'no kid': (kind) => signed(kind, {}, { kid: undefined }),
  'a kid that is no text': (kind) => signed(kind, {}, { kid: 1 }),
  'a tampered payload': (kind) =>
    replaced(signed(kind), 1, base64(JSON.stringify({ ...kind.claims, sub: 'root' }))),
  'a tampered header': (kind) =>
    replaced(
      signed(kind),
      0,
      base64(JSON.stringify({ alg: kind.key.alg, kid: kind.key.kid, typ: kind.typ, x: 1 })),
    ),
  'a signature of another token': (kind) =>
    replaced(signed(kind), 2, signed(kind, { sub: 'other' }).split('.')[2] ?? ''),
  'a shortened signature': (kind) => signed(kind).slice(0, -4),
  'no signature': (kind) => replaced(signed(kind), 2, ''),
  'no signature and no dot': (kind) => signed(kind).split('.').slice(0, 2).join('.'),
  'a fourth part': (kind) => `${signed(kind)}.${base64('{}')}`,
  'five parts': (kind) => `${signed(kind)}.a.b`,
  'a dot behind': (kind) => `${signed(kind)}.`,
  'padding behind': (kind) => `${signed(kind)}==`,
  'a blank in it': (kind) => signed(kind).replace('.', '. '),
  'no exp': (kind) => signed(kind, { exp: undefined }),
  'exp as text': (kind) => signed(kind, { exp: String(NOW_SECONDS + 240) }),
  'exp null': (kind) => signed(kind, { exp: null }),
  'no iat': (kind) => signed(kind, { iat: undefined }),
  'iat as text': (kind) => signed(kind, { iat: String(NOW_SECONDS - 60) }),
  'no sub': (kind) => signed(kind, { sub: undefined }),
  'an empty sub': (kind) => signed(kind, { sub: '' }),
  'sub as a number': (kind) => signed(kind, { sub: 1 }),
  'a wrong typ': (kind) => signed(kind, {}, { typ: kind.typ === 'JWT' ? 'at+jwt' : 'JWT' }),
  'a typ in other letters': (kind) =>
    signed(
      kind,
      {},
      { typ: kind.typ.toLowerCase() === kind.typ ? kind.typ.toUpperCase() : kind.typ.toLowerCase() },
    ),
  'a typ that is no text': (kind) => signed(kind, {}, { typ: [kind.typ] }),
  'a crit header': (kind) => signed(kind, {}, { crit: ['exp'], exp: NOW_SECONDS + 240 }),
  'a crit header of an unknown extension': (kind) => signed(kind, {}, { crit: ['x-other'], 'x-other': true }),
  'an unencoded payload': (kind) => signed(kind, {}, { crit: ['b64'], b64: false }),
  'claims that are a list': (kind) => signedText(headerText(kind), '[]', kind.key),
  'claims that are no JSON': (kind) => signedText(headerText(kind), '{broken', kind.key),
  'a header that is no JSON': (kind) => signedText('{broken', JSON.stringify(kind.claims), kind.key),
  'a header that is null': (kind) => signedText('null', JSON.stringify(kind.claims), kind.key),
  'a genuine token of 17 kB': (kind) => signed(kind, { padding: 'x'.repeat(12_000) }),
}

/** What is wrong for one kind only. */
const OWN_FORGERIES: readonly (readonly [string, TokenKind, string])[] = [
  ['a sign-in in the future', FIREBASE, signed(FIREBASE, { auth_time: NOW_SECONDS + 6 })],
  ['no sign-in', FIREBASE, signed(FIREBASE, { auth_time: undefined })],
  ['a sign-in at a text', FIREBASE, signed(FIREBASE, { auth_time: 'now' })],
  ['a uid with a slash', FIREBASE, signed(FIREBASE, { sub: 'ann/tools' })],
  ['a uid of dots', FIREBASE, signed(FIREBASE, { sub: '..' })],
  ['a uid of 129 characters', FIREBASE, signed(FIREBASE, { sub: 'a'.repeat(129) })],
  ['a uid with a line feed', FIREBASE, signed(FIREBASE, { sub: 'ann\n' })],
  [
    'the issuer of session cookies',
    FIREBASE,
    signed(FIREBASE, { iss: `https://session.firebase.google.com/${PROJECT}` }),
  ],
  ['an address that is not verified', OIDC, signed(OIDC, { email_verified: false })],
  ['an address verified by a text', OIDC, signed(OIDC, { email_verified: 'true' })],
  ['no word on verification', OIDC, signed(OIDC, { email_verified: undefined })],
  ['no address', OIDC, signed(OIDC, { email: undefined })],
  ['a list of addresses', OIDC, signed(OIDC, { email: [ACCOUNT] })],
  ['the signature of Firebase', OIDC, signed(OIDC, {}, { kid: FIREBASE.key.kid }, FIREBASE.key)],
  ['no typ', JOB, signed(JOB, {}, { typ: undefined })],
  ['no nbf', JOB, signed(JOB, { nbf: undefined })],
  ['no jti', JOB, signed(JOB, { jti: undefined })],
  ['no uid', JOB, signed(JOB, { uid: undefined })],
  ['a uid with a slash', JOB, signed(JOB, { uid: 'ann/tools' })],
  ['an empty uid', JOB, signed(JOB, { uid: '' })],
  ['no tools', JOB, signed(JOB, { tools: undefined })],
  ['an empty list of tools', JOB, signed(JOB, { tools: [] })],
  [
    '65 tools',
    JOB,
    signed(JOB, { tools: Array.from({ length: 65 }, (_, n) => ({ name: `T${n}`, digest: DIGEST })) }),
  ],
  ['a tool without a digest', JOB, signed(JOB, { tools: [{ name: 'READ_FILE' }] })],
  ['a tool named by a pattern', JOB, signed(JOB, { tools: [{ name: '*', digest: DIGEST }] })],
  ['a subject that is no workflow', JOB, signed(JOB, { sub: 'ann' })],
]

const GARBAGE = [
  '',
  '.',
  '..',
  '...',
  'x',
  'null',
  '{}',
  '[]',
  'a.b.c',
  'e30.e30.e30',
  '\u00ff.\u00ff.\u00ff',
  '%00',
  '<script>',
]

type Answer = { readonly status: number; readonly headers: object; readonly body: string }

async function ask(family: string, token: string | undefined, userId?: string): Promise<Answer> {
  const headers = {
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(userId !== undefined && { 'X-User-Id': userId }),
  }
  const answer = await fetch(`${service.url}/${family}/tools/list`, { headers })
  const seen = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'))
  return { status: answer.status, headers: seen, body: await answer.text() }
}

const without = await ask('workflows', undefined)

test('without a token it is a 401 that names no reason', () => {
  expect(without.status).toBe(401)
  expect(JSON.parse(without.body)).toMatchObject({ error: { details: [{ reason: 'TOKEN_INVALID' }] } })
})

describe.each(KINDS.map((kind) => [kind.name, kind] as const))('a %s token', (_name, kind) => {
  const other = kind.family === 'jobs' ? 'workflows' : 'jobs'

  test('is good on its family, with the longest life it may have and a clock 5 s ahead', async () => {
    for (const claims of [
      {},
      { exp: NOW_SECONDS - 60 + kind.lifetimeSecondsMax },
      { iat: NOW_SECONDS + 5, nbf: NOW_SECONDS + 5, auth_time: NOW_SECONDS + 5 },
      { exp: NOW_SECONDS + 1 },
      { aud: ['another', kind.claims['aud']] },
    ])
      expect((await ask(kind.family, signed(kind, claims), 'ann')).status).toBe(200)
  })

  test('may leave out its typ where Google makes it, and not where we do', async () => {
    const { status } = await ask(kind.family, signed(kind, {}, { typ: undefined }), 'ann')
    expect(status).toBe(kind === JOB ? 401 : 200)
  })

  test('is nobody on the other family', async () => {
    expect(await ask(other, signed(kind), 'ann')).toEqual(without)
    expect(await ask(kind.family, signed(kind), 'ann')).toMatchObject({ status: 200 })
    expect(await ask(other, signed(kind), 'ann')).toEqual(without)
  })

  test.each(Object.entries(FORGERIES))(
    'with %s is answered like no token at all, to the byte',
    async (_what, forge) => {
      expect(await ask(kind.family, forge(kind), 'ann')).toEqual(without)
    },
  )

  test.each(KINDS.filter((as) => as !== kind).map((as) => [as.name, as] as const))(
    'that passes itself off as a %s token is nobody',
    async (_as, as) => {
      const { claims, typ } = as
      const dressed = [
        signed(kind, claims),
        signed(kind, claims, { typ }),
        signed(kind, claims, { typ, kid: as.key.kid }),
        ...(typ === kind.typ ? [] : [signed(kind, {}, { typ })]),
      ]
      for (const token of dressed) {
        expect(await ask(as.family, token, 'ann')).toEqual(without)
        expect(await ask(kind.family, token, 'ann')).toEqual(without)
      }
    },
  )
})

const OWN = OWN_FORGERIES.map(([what, kind, token]) => [kind.name, what, kind, token] as const)

test.each(OWN)('a %s token with %s is answered like no token at all', async (_kind, _what, kind, token) => {
  expect(await ask(kind.family, token, 'ann')).toEqual(without)
})

test.each(GARBAGE)('%j is answered like no token at all, on both families', async (garbage) => {
  expect(await ask('workflows', garbage)).toEqual(without)
  expect(await ask('jobs', garbage, 'ann')).toEqual(without)
})

const credentials = (family: Credentials['family'], token: string): Credentials => ({
  authorization: `Bearer ${token}`,
  userId: 'ann',
  family,
})

test('a token of 1 MB is refused, also one whose signature is right', async () => {
  for (const kind of KINDS) {
    for (const token of [signed(kind, { padding: 'x'.repeat(1_000_000) }), 'x'.repeat(1_000_000)]) {
      const asking = async () => access.authenticate(credentials(kind.family, token))
      await expect(asking()).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  }
})

test('whatever stands in the place of a token, it is TOKEN_INVALID and never a fault of the service', async () => {
  const genuine = KINDS.map((kind) => signed(kind).split('.'))
  const part = fc.oneof(
    fc.constantFrom(...genuine.flat()),
    fc.string(),
    fc.json().map(base64),
    fc
      .dictionary(fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk'), fc.jsonValue())
      .map((it) => base64(JSON.stringify(it))),
  )
  const isGenuine = (token: string): boolean => genuine.some((parts) => parts.join('.') === token)
  const token = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'))
  await fc.assert(
    fc.asyncProperty(token, fc.constantFrom('workflows' as const, 'jobs' as const), async (text, family) => {
      fc.pre(!isGenuine(text))
      const asking = async () => access.authenticate(credentials(family, text))
      await expect(asking()).rejects.toMatchObject({
        code: 'TOKEN_INVALID',
      })
    }),
    { numRuns: 500 },
  )
})

function other({ key }: TokenKind) {
  return attacker[key.alg]
}

function headerText({ key, typ }: TokenKind): string {
  return JSON.stringify({ alg: key.alg, kid: key.kid, typ })
}

function pem({ key }: TokenKind): string {
  return key.publicKey.export({ type: 'spki', format: 'pem' }).toString()
}

function hmacForged({ key, typ, claims }: TokenKind, secret: string | Buffer): string {
  return hmacSigned({ alg: 'HS256', kid: key.kid, typ }, claims, secret)
}

function withClaimText(kind: TokenKind, name: string, text: string): string {
  const payload = JSON.stringify({ ...kind.claims, [name]: 0 }).replace(`"${name}":0`, `"${name}":${text}`)
  return signedText(headerText(kind), payload, kind.key)
}

function replaced(token: string, index: number, part: string): string {
  return token.split('.').with(index, part).join('.')
}
