import { expect, test } from '@jest/globals'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { localAuthentication, readLocalToken } from '../../../functions/src/access/local-token.ts'
import type { Principal } from '../../../functions/src/access/principal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('the first start makes a token that only its owner may read', () => {
  using folder = temporaryFolder()
  const token = readLocalToken(folder.path)
  const path = join(folder.path, 'token')
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(readFileSync(path, 'utf8')).toBe(`${token}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('the second start uses the same token', () => {
  using folder = temporaryFolder()
  expect(readLocalToken(folder.path)).toBe(readLocalToken(folder.path))
})

test('two folders have two tokens', () => {
  using one = temporaryFolder()
  using other = temporaryFolder()
  expect(readLocalToken(one.path)).not.toBe(readLocalToken(other.path))
})

test('a token that its owner wrote is used, and from then on readable by its owner only', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'token')
  writeFileSync(path, `${'x'.repeat(32)}\n`, { mode: 0o644 })
  expect(readLocalToken(folder.path)).toBe('x'.repeat(32))
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test.each(['', '\n', 'short', 'x'.repeat(129), `${'x'.repeat(40)} y`, `${'x'.repeat(40)}\u20AC`])(
  'a token file that holds %j is replaced by a new token, readable by its owner only',
  (text) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'token')
    writeFileSync(path, text, { mode: 0o644 })
    expect(readLocalToken(folder.path)).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  },
)

test('a token file that can not be read is an error, not a new token', () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'token'))
  expect(() => readLocalToken(folder.path)).toThrow(expect.objectContaining({ code: 'EISDIR' }))
})

const TOKEN = 'a-Token_of-32-characters-and-more'
const authenticate = localAuthentication(TOKEN)

async function who(authorization: string | undefined, family: 'workflows' | 'jobs'): Promise<Principal> {
  return authenticate({ authorization, userId: undefined, family })
}

test('the holder of the token is uid local and an admin, as a user on one family and as a job on the other', async () => {
  expect(await who(`Bearer ${TOKEN}`, 'workflows')).toEqual({ kind: 'user', uid: 'local', isAdmin: true })
  expect(await who(`Bearer ${TOKEN}`, 'jobs')).toEqual({ kind: 'job', uid: 'local', isAdmin: true })
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
  const who = { kind: 'user', uid: 'local', isAdmin: true }
  expect(authenticate({ ...credentials(token), family: 'workflows' })).toEqual(who)
  expect(authenticate({ ...credentials(approver), family: 'workflows' })).toEqual({
    ...who,
    mayApprove: true,
  })
  expect(() => authenticate({ ...credentials(approver), family: 'jobs' })).toThrow(
    expect.objectContaining({ code: 'TOKEN_INVALID' }),
  )
})

test('the two tokens of a folder differ', () => {
  using folder = temporaryFolder()
  const approver = readLocalToken(folder.path, 'approver')
  expect(readLocalToken(folder.path)).not.toBe(approver)
  expect(readLocalToken(folder.path, 'approver')).toBe(approver)
  expect(statSync(join(folder.path, 'approver-token')).mode & 0o777).toBe(0o600)
})
