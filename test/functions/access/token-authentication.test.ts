import { expect, test } from '@jest/globals'
import { bearerToken, TOKEN_BYTES_MAX } from '../../../functions/src/access/authenticate.ts'
import type { Authenticate } from '../../../functions/src/access/authenticate.ts'
import { REMEMBERED_MS } from '../../../functions/src/access/token-authentication.ts'
import { grantOf, isUid } from '../../../functions/src/access/principal.ts'
import { authenticationOf, firebaseAccess, localAccess } from '../../../functions/src/hosts/authentication.ts'
import { parseConfig } from '../../../functions/src/hosts/config.ts'
import { jobKeysOf, NOW, NOW_SECONDS, signed } from '../../support/signed-tokens.ts'
import type { TokenKind } from '../../support/signed-tokens.ts'
import {
  ACCOUNT,
  AUDIENCE,
  deployedAccess,
  DIGEST,
  FIREBASE,
  JOB,
  jobKey,
  KINDS,
  OIDC,
  PROJECT,
} from '../../support/token-kinds.ts'

const { authenticate } = deployedAccess(() => NOW)

async function ask(kind: TokenKind, token: string, userId?: string, as: Authenticate = authenticate) {
  return as({ authorization: `Bearer ${token}`, userId, family: kind.family })
}

test('a Firebase token is its user, who is an admin by the custom claim true and by nothing else', async () => {
  const ann = { kind: 'user', uid: 'ann', isAdmin: false, mayApprove: true }
  expect(await ask(FIREBASE, signed(FIREBASE))).toEqual(ann)
  expect(await ask(FIREBASE, signed(FIREBASE, { toolrackAdmin: true }))).toEqual({ ...ann, isAdmin: true })
  for (const toolrackAdmin of ['true', 1, {}, [true], false, null])
    expect(await ask(FIREBASE, signed(FIREBASE, { toolrackAdmin }))).toEqual(ann)
})

test('whose token was verified before is known at once, and a job of the user that is named now', async () => {
  for (const kind of KINDS) {
    const credentials = { authorization: `Bearer ${signed(kind)}`, userId: 'ann', family: kind.family }
    const verified = await authenticate(credentials)
    expect(authenticate(credentials)).toEqual(verified)
  }
  const authorization = `Bearer ${signed(OIDC)}`
  expect(authenticate({ authorization, userId: 'bob', family: 'jobs' })).toMatchObject({ uid: 'bob' })
})

test('X-User-Id does not turn a user into another', async () => {
  expect(await ask(FIREBASE, signed(FIREBASE), 'bob')).toMatchObject({ uid: 'ann' })
})

test('a listed service account is a job of the user that X-User-Id names, and never an admin', async () => {
  const token = signed(OIDC, { toolrackAdmin: true })
  expect(await ask(OIDC, token, 'ann')).toEqual({ kind: 'job', uid: 'ann', isAdmin: false })
  expect(await ask(OIDC, token, 'bob')).toEqual({ kind: 'job', uid: 'bob', isAdmin: false })
})

test('both spellings of the issuer are read', async () => {
  const token = signed(OIDC, { iss: 'accounts.google.com' })
  expect(await ask(OIDC, token, 'ann')).toMatchObject({ uid: 'ann' })
})

const BAD_IDS = [
  '',
  ' ',
  '.',
  '..',
  'a/b',
  '../ann',
  'ann/tools/defs',
  '%2e%2e',
  'ann\n',
  'ann bob',
  'ann, bob',
  'änn',
  'a'.repeat(129),
]

test('a service account without X-User-Id is a 400 that says what is missing', async () => {
  await expect(ask(OIDC, signed(OIDC))).rejects.toMatchObject({
    code: 'HEADER_INVALID',
    message: expect.stringMatching(/^X-User-Id is missing; .* 1 to 128 letters/),
  })
})

test.each(BAD_IDS)(
  'a service account with the X-User-Id %j is a 400 that does not repeat it',
  async (userId) => {
    expect(isUid(userId)).toBe(false)
    await expect(ask(OIDC, signed(OIDC), userId)).rejects.toMatchObject({
      code: 'HEADER_INVALID',
      message:
        'X-User-Id is not a user id; it says for whom a service account acts, and a user id is 1 to 128 letters, digits, _ or - (ASCII).',
    })
  },
)

test.each(['a', 'a'.repeat(128), 'A-Za_z0-9', '-', '__proto__'])('%j is a user id', async (userId) => {
  expect(await ask(OIDC, signed(OIDC), userId)).toMatchObject({ uid: userId })
})

test('an account that is not on the list is a 403, whatever its X-User-Id, each time', async () => {
  const token = signed(OIDC, { email: `x${ACCOUNT}` })
  for (const userId of ['ann', undefined, 'a/b', 'ann'])
    await expect(ask(OIDC, token, userId)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('where no audience is set no OIDC token is good, and without keys no job token', async () => {
  const auth = {
    kind: 'firebase',
    projectId: PROJECT,
    emulator: false,
    jobAccounts: [ACCOUNT],
    jobAudiences: [],
  } as const
  const unreachable = { url: 'http://127.0.0.1:9/keys' }
  const bare = firebaseAccess(auth, undefined, () => NOW, { users: unreachable, accounts: unreachable })
  expect(bare.signJobToken).toBeUndefined()
  for (const token of [signed(OIDC), signed(OIDC, { aud: '' }), signed(OIDC, { aud: [] }), signed(JOB)])
    await expect(ask(OIDC, token, 'ann', bare.authenticate)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test('a job token is a job of the uid in it, whatever X-User-Id says, with its grant', async () => {
  const grant = grantOf([{ name: 'READ_FILE', digest: DIGEST }])
  expect(await ask(JOB, signed(JOB), 'bob')).toEqual({
    kind: 'job',
    uid: 'ann',
    isAdmin: false,
    grant,
    workflowId: 'nightly',
    endsAtMs: 1_767_323_285_000,
  })
})

test('in local mode a job token is good on the jobs family and on no other', async () => {
  const local = localAccess('local-token-of-32-characters-and-more', jobKeysOf(jobKey), () => NOW)
  expect(await ask(JOB, signed(JOB), undefined, local.authenticate)).toMatchObject({
    kind: 'job',
    uid: 'ann',
  })
  const asked = [
    ask(FIREBASE, signed(JOB), undefined, local.authenticate),
    ask(FIREBASE, signed(FIREBASE), undefined, local.authenticate),
    ask(OIDC, signed(OIDC), 'ann', local.authenticate),
  ]
  for (const { status, reason } of (await Promise.allSettled(asked)) as PromiseRejectedResult[]) {
    expect(status).toBe('rejected')
    expect(reason).toMatchObject({ code: 'TOKEN_INVALID' })
  }
})

test('with Firebase tokens the local token of the data folder is nobody', async () => {
  const { auth } = parseConfig({ TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: PROJECT })
  const token = 'local-token-of-32-characters-and-more'
  const firebase = authenticationOf({ auth, jobKeys: jobKeysOf(jobKey) }, token)
  for (const kind of [FIREBASE, OIDC])
    await expect(ask(kind, token, 'ann', firebase.authenticate)).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
})

test.each(KINDS.map((kind) => [kind.name, kind] as const))(
  'a remembered %s token is good until its exp and not a moment longer',
  async (_name, kind) => {
    let now = NOW
    const clock = deployedAccess(() => now)
    const token = signed(kind)
    expect(await ask(kind, token, 'ann', clock.authenticate)).toMatchObject({ uid: 'ann' })
    now = (NOW_SECONDS + 240) * 1_000 - 1
    expect(await ask(kind, token, 'ann', clock.authenticate)).toMatchObject({ uid: 'ann' })
    now += 1
    await expect(ask(kind, token, 'ann', clock.authenticate)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(REMEMBERED_MS).toBeGreaterThan(240_000)
  },
)

test('a token may be 16 KB long and no longer', () => {
  const longest = 'x'.repeat(TOKEN_BYTES_MAX)
  expect(TOKEN_BYTES_MAX).toBe(16_384)
  expect(bearerToken(`Bearer ${longest}`)).toBe(longest)
  expect(() => bearerToken(`Bearer ${longest}x`)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
})

test('the audience is one of those that are set', async () => {
  await expect(ask(OIDC, signed(OIDC, { aud: `${AUDIENCE}/` }), 'ann')).rejects.toMatchObject({
    code: 'TOKEN_INVALID',
  })
})
