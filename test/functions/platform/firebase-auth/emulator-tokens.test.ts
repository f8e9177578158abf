import { afterAll, afterEach, expect, test } from '@jest/globals'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { firebaseAccess } from '../../../../functions/src/hosts/authentication.ts'
import { signed, unsigned } from '../../../support/signed-tokens.ts'
import type { Part } from '../../../support/signed-tokens.ts'
import { FIREBASE, PROJECT } from '../../../support/token-kinds.ts'

/** What the Auth emulator answers when it is asked for a user. */
let users: readonly object[] = []
let isUp = true
function lookUp(_req: IncomingMessage, res: ServerResponse): void {
  if (!isUp) return void res.writeHead(500).end()
  res.setHeader('Content-Type', 'application/json').end(JSON.stringify({ users }))
}

const emulator = createServer(lookUp).listen(0, '127.0.0.1')
await once(emulator, 'listening')
process.env['FIREBASE_AUTH_EMULATOR_HOST'] = `127.0.0.1:${(emulator.address() as AddressInfo).port}`
process.env['METADATA_SERVER_DETECTION'] = 'none'
afterAll(() => void emulator.close())
afterEach(() => {
  users = []
  isUp = true
})

const seconds = Math.floor(Date.now() / 1_000)
const claims: Part = { ...FIREBASE.claims, iat: seconds, auth_time: seconds, exp: seconds + 3_600 }
const auth = {
  kind: 'firebase',
  projectId: PROJECT,
  emulator: true,
  jobAccounts: [],
  jobAudiences: [],
} as const

const { authenticate } = firebaseAccess(auth, undefined)

function ask(changed: Part, family: 'workflows' | 'jobs' = 'workflows') {
  const token = unsigned({ alg: 'none', typ: 'JWT' }, { ...claims, ...changed })
  return authenticate({ authorization: `Bearer ${token}`, userId: 'ann', family })
}

const ann = { localId: 'ann', validSince: '0' }

test("the emulator's unsigned tokens are its users, admins by the same claim", async () => {
  users = [ann]
  expect(await ask({})).toEqual({ kind: 'user', uid: 'ann', isAdmin: false, mayApprove: true })
  expect(await ask({ toolrackAdmin: true })).toEqual({
    kind: 'user',
    uid: 'ann',
    isAdmin: true,
    mayApprove: true,
  })
})

test('a user that the emulator does not have, or has disabled, is nobody', async () => {
  await expect(ask({ jti: '1' })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  users = [{ ...ann, disabled: true }]
  await expect(ask({ jti: '2' })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test.each<[string, Part]>([
  ['a foreign audience', { aud: 'other' }],
  ['a foreign issuer', { iss: 'https://accounts.google.com' }],
  ['an end in the past', { iat: seconds - 600, exp: seconds - 300 }],
  ['a lifetime of ten years', { exp: seconds + 315_360_000 }],
  ['no subject', { sub: undefined }],
  ['a uid with a slash', { sub: 'ann/tools' }],
  ['no exp', { exp: undefined }],
  ['no iat', { iat: undefined }],
  ['a sign-in in the future', { auth_time: seconds + 600 }],
])('%s is refused from the emulator too', async (_what, changed) => {
  users = [{ ...ann, localId: changed['sub'] ?? 'ann' }]
  await expect(ask(changed)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test.each(['', '.', 'x', 'a.b.c', 'e30.e30.', 'e30.e30.e30', 'bnVsbA.bnVsbA.', signed(FIREBASE)])(
  '%j is refused, and is no fault of the emulator',
  async (token) => {
    users = [ann]
    const asked = authenticate({ authorization: `Bearer ${token}`, userId: undefined, family: 'workflows' })
    await expect(asked).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  },
)

test('an unsigned token is nobody on the jobs family', async () => {
  users = [ann]
  await expect(ask({}, 'jobs')).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test('where the emulator fails it is a 503 and never a 401', async () => {
  isUp = false
  await expect(ask({ jti: '3' })).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
})
