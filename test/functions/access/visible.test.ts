import { expect, test } from '@jest/globals'
import { aliasOf } from '@toolrack/contract'
import { maySee, whyNotCalled } from '../../../functions/src/access/visible.ts'
import type { Principal } from '../../../functions/src/access/principal.ts'
import { grantOf } from '../../../functions/src/access/principal.ts'

const [NOW, BEFORE] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`] as const
const grant = grantOf([{ name: 'math.pi', digest: NOW }])
const user: Principal = { kind: 'user', uid: 'u', isAdmin: false }
const job: Principal = { kind: 'job', uid: 'u', isAdmin: false }
const tokenJob: Principal = { kind: 'job', uid: 'u', isAdmin: false, grant, workflowId: 'w' }

test.each([
  ['a user', user],
  ['a job of an account', job],
])('%s sees and calls every tool of their catalog', (_who, principal) => {
  expect(maySee(principal, { name: 'any', digest: NOW })).toEqual({ allowed: true })
  expect(whyNotCalled(principal, 'any')).toBeUndefined()
})

test('a job token sees and calls the tools that it names at their digests', () => {
  expect(maySee(tokenJob, { name: 'math.pi', digest: NOW })).toEqual({ allowed: true })
})

test.each([
  ['a tool that it does not name', 'other', NOW, 'PERMISSION_DENIED', /does not name the tool other/],
  ['another definition of a tool that it names', 'math.pi', BEFORE, 'DIGEST_CHANGED', /math\.pi has changed/],
] as const)(
  'to a job token %s is hidden and not callable, with the reason',
  (_what, name, digest, code, reason) => {
    const denied = { allowed: false, code, reason: expect.stringMatching(reason) }
    expect(maySee(tokenJob, { name, digest })).toEqual(denied)
  },
)

test('what is no question of the digest is seen by the name', () => {
  expect(maySee(tokenJob, { name: 'math.pi' })).toEqual({ allowed: true })
  expect(maySee(tokenJob, { name: 'other' })).toMatchObject({ allowed: false, code: 'PERMISSION_DENIED' })
})

test('a name or an alias that a job token does not name is refused as such', () => {
  expect(whyNotCalled(tokenJob, 'math.pi')).toBeUndefined()
  expect(whyNotCalled(tokenJob, aliasOf('math.pi'))).toBeUndefined()
  expect(whyNotCalled(tokenJob, 'other')).toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'The token of this job does not name the tool other.',
  })
})
