import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Runs code that prints `loaded` when one of the packages is loaded. */
function loads(code: string): boolean {
  const hook = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(specifier, context, next) {
      if (/^(?:jose|firebase-admin)(?:\\/|$)/.test(specifier)) console.log('loaded')
      return next(specifier, context)
    } })`
  const program = `await import('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))\n${code}`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return stdout.includes('loaded')
}

const SETUP = `
  const { localAccess, firebaseAccess } = await import('./functions/src/authentication.ts')
  const { newJobKeys, parseJobKeys } = await import('./functions/src/access/job-keys.ts')
  const keys = parseJobKeys(newJobKeys())
  const auth = { kind: 'firebase', projectId: 'p', emulator: true, jobAccounts: ['a@b'], jobAudiences: ['c'] }`

test('neither jose nor firebase-admin is loaded until a token needs it: not by a start, not by the local token', () => {
  const code = `${SETUP}
    firebaseAccess(auth, keys)
    firebaseAccess({ ...auth, emulator: false }, keys)
    await localAccess('t', keys).authenticate({ authorization: 'Bearer t', family: 'jobs' })`
  expect(loads(code)).toBe(false)
})

test('the first token that looks like one loads it', () => {
  const code = `${SETUP}
    await localAccess('t', keys).authenticate({ authorization: 'Bearer a.b.c', family: 'jobs' }).catch(() => 0)`
  expect(loads(code)).toBe(true)
})
