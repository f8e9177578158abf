import { expect, test } from '@jest/globals'
import { authorise } from '../../../functions/src/access/authorise.ts'
import { decide } from '../../../functions/src/access/decide.ts'
import type { Action } from '../../../functions/src/access/decide.ts'
import type { Principal } from '../../../functions/src/access/principal.ts'

const user: Principal = { kind: 'user', uid: 'u', isAdmin: false }
const admin: Principal = { kind: 'user', uid: 'a', isAdmin: true }
const job: Principal = { kind: 'job', uid: 'u', isAdmin: false }
const read: Action = { verb: 'read' }
const write = (layer: 'user' | 'global' | 'file'): Action => ({ verb: 'write', layer })

test.each<[string, Principal, string, Action]>([
  ['a user', user, 'read', read],
  ['a job', job, 'read', read],
  ['an admin', admin, 'read', read],
  ['a user', user, 'write their own layer', write('user')],
  ['a job', job, "write its user's layer", write('user')],
  ['an admin', admin, 'write their own layer', write('user')],
  ['an admin', admin, 'write the global layer', write('global')],
])('%s (%j) may %s', (_who, principal, _what, action) => {
  expect(decide(principal, action)).toEqual({ allowed: true })
  expect(() => authorise(principal, action)).not.toThrow()
})

test.each<[string, Principal, string, Action, RegExp]>([
  ['a user', user, 'the global layer', write('global'), /Only an admin/],
  ['a job', job, 'the global layer', write('global'), /Only an admin/],
  ['a user', user, 'the file layer', write('file'), /editing its files/],
  ['an admin', admin, 'the file layer', write('file'), /editing its files/],
])('%s (%j) may not write %s, and is told why', (_who, principal, _what, action, reason) => {
  const decision = decide(principal, action)
  expect(decision).toEqual({ allowed: false, reason: expect.stringMatching(reason) })
  expect(() => authorise(principal, action)).toThrow(
    expect.objectContaining({ code: 'PERMISSION_DENIED', message: expect.stringMatching(reason) }),
  )
})
