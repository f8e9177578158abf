import { expect, test } from '@jest/globals'
import { loadedPackages } from '../../../support/loaded-packages.ts'

const PACKAGES = ['jose', 'firebase-admin']

const SETUP = `
  const { localAccess, firebaseAccess } = await import('./functions/src/hosts/authentication.ts')
  const { newJobKeys, parseJobKeys } = await import('./functions/src/access/job-keys.ts')
  const keys = parseJobKeys(newJobKeys())
  const auth = { kind: 'firebase', projectId: 'p', emulator: true, jobAccounts: ['a@b'], jobAudiences: ['c'] }`

test('neither jose nor firebase-admin is loaded until a token needs it: not by a start, not by the local token', () => {
  const code = `${SETUP}
    firebaseAccess(auth, keys)
    firebaseAccess({ ...auth, emulator: false }, keys)
    await localAccess('t', keys).authenticate({ authorization: 'Bearer t', family: 'jobs' })`
  expect(loadedPackages(PACKAGES, code)).toEqual([])
})

test('the first token that looks like one loads it', () => {
  const code = `${SETUP}
    await localAccess('t', keys).authenticate({ authorization: 'Bearer a.b.c', family: 'jobs' }).catch(() => 0)`
  expect(loadedPackages(PACKAGES, code)).toEqual(['jose'])
})
