import { expect, test } from '@jest/globals'
import {
  localAuthentication,
  newLocalToken,
  parseLocalToken,
} from '../../../functions/src/access/local-token.ts'
import type { Principal } from '../../../functions/src/access/principal.ts'

test('a new token is long and another one each time', () => {
  const made = [newLocalToken(), newLocalToken()]
  expect(made[0]).toMatch(/^[A-Za-z0-9_-]{43}\n$/)
  expect(made[0]).not.toBe(made[1])
})

test('the text of a token is read without the blanks around it', () => {
  expect(parseLocalToken(`${'x'.repeat(32)}\n`)).toBe('x'.repeat(32))
})

test.each(['', '\n', 'short', 'x'.repeat(129), `${'x'.repeat(40)} y`, `${'x'.repeat(40)}\u20AC`])(
  'the text %j is no token',
  (text) => expect(parseLocalToken(text)).toBeUndefined(),
)

const TOKEN = 'a-Token_of-32-characters-and-more'
const authenticate = localAuthentication(TOKEN)

async function who(authorization: string | undefined, family: 'workflows' | 'jobs'): Promise<Principal> {
  return authenticate({ authorization, userId: undefined, family })
}

test('the holder of the token is uid local and an admin, as a user on one family and as a job on the other', async () => {
  const owner = { uid: 'local', isAdmin: true, token: 'printed' }
  expect(await who(`Bearer ${TOKEN}`, 'workflows')).toEqual({ kind: 'user', ...owner })
  expect(await who(`Bearer ${TOKEN}`, 'jobs')).toEqual({ kind: 'job', ...owner })
})

test('X-User-Id changes nothing about the holder of the token', async () => {
  const principal = await authenticate({ authorization: `Bearer ${TOKEN}`, userId: 'ann', family: 'jobs' })
  expect(principal.uid).toBe('local')
})

test('another token is shown to whoever knows others, with all that came with it', async () => {
  const seen: unknown[] = []
  const ann: Principal = { kind: 'job', uid: 'ann', isAdmin: false }
  const both = localAuthentication(TOKEN, (credentials) => Promise.resolve((seen.push(credentials), ann)))
  const credentials = { authorization: 'Bearer other', userId: 'ann', family: 'jobs' } as const
  expect(await both(credentials)).toBe(ann)
  expect(await both({ ...credentials, authorization: `Bearer ${TOKEN}` })).toMatchObject({ uid: 'local' })
  expect(seen).toEqual([credentials])
})

test.each(['bearer', 'BEARER', 'BeArEr'])('the scheme is read in any case: %s', async (scheme) => {
  expect((await who(`${scheme} ${TOKEN}`, 'workflows')).uid).toBe('local')
})

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['the scheme only', 'Bearer'],
  ['an empty token', 'Bearer '],
  ['another token', `Bearer ${'x'.repeat(TOKEN.length)}`],
  ['a shorter token', `Bearer ${TOKEN.slice(0, -1)}`],
  ['a longer token', `Bearer ${TOKEN}x`],
  ['the token in another case', `Bearer ${TOKEN.toUpperCase()}`],
  ['the token without a scheme', TOKEN],
  ['another scheme', `Basic ${TOKEN}`],
  ['a scheme that only ends in bearer', `xBearer ${TOKEN}`],
  ['two blanks', `Bearer  ${TOKEN}`],
  ['a blank behind', `Bearer ${TOKEN} `],
  ['two tokens', `Bearer ${TOKEN}, Bearer ${TOKEN}`],
  ['a very long token', `Bearer ${'x'.repeat(1_000_000)}`],
])('%s is nobody', async (_title, header) => {
  await expect(who(header, 'workflows')).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  await expect(who(header, 'jobs')).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

const credentials = (shown: string) => ({ authorization: `Bearer ${shown}`, userId: undefined })

test('only the token of the approver may approve, and only on the routes of users', () => {
  const [token, approver] = ['t'.repeat(43), 'a'.repeat(43)]
  const authenticate = localAuthentication(token, undefined, approver)
  const who = { kind: 'user', uid: 'local', isAdmin: true, token: 'printed' }
  expect(authenticate({ ...credentials(token), family: 'workflows' })).toEqual(who)
  expect(authenticate({ ...credentials(approver), family: 'workflows' })).toEqual({
    ...who,
    token: 'approver',
    mayApprove: true,
  })
  expect(() => authenticate({ ...credentials(approver), family: 'jobs' })).toThrow(
    expect.objectContaining({ code: 'TOKEN_INVALID' }),
  )
})
