import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { signIn, signInWithClaims } from '../../../scripts/toolchain/auth-emulator.mjs'
import { describeWithEmulators, EMULATORS, HOSTING, newName } from '../../support/emulators.ts'

const CLI = fileURLToPath(new URL('../../../functions/src/hosts/cloud/admin-cli.ts', import.meta.url))

type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** `npm run admin` as its script calls it. */
async function admin(verb: string, user: string, host = EMULATORS.auth): Promise<Outcome> {
  const env = { FIREBASE_AUTH_EMULATOR_HOST: host, GOOGLE_CLOUD_PROJECT: EMULATORS.project }
  const args = ['--disable-warning=ExperimentalWarning', CLI, verb, user]
  return promisify(execFile)(process.execPath, args, { env }).then(
    (told) => ({ code: 0, ...told }),
    (error: Outcome) => error,
  )
}

const TARGET = `${EMULATORS.project} on the emulator at ${EMULATORS.auth}`

/** The claims of the user's next token, and the status of a write to the global layer with it. */
async function next(email: string) {
  const { idToken } = await signIn(EMULATORS.auth, email)
  const [, payload = ''] = idToken.split('.')
  const { toolrackAdmin, team } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    toolrackAdmin?: unknown
    team?: unknown
  }
  const answer = await fetch(`${HOSTING}/workflows/tools/defs/${newName()}?layer=global`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${idToken}` },
    body: '{"description":"Says hello."}',
  })
  return { toolrackAdmin, team, status: answer.status }
}

describeWithEmulators('npm run admin', () => {
  test('makes a user an admin, by mail or uid, and back; the other claims stay', async () => {
    const email = `${randomUUID()}@example.com`
    const { uid } = await signInWithClaims(EMULATORS.auth, EMULATORS.project, email, { team: 'red' })
    const name = `${email} (uid ${uid})`
    expect(await next(email)).toEqual({ toolrackAdmin: undefined, team: 'red', status: 403 })

    const granted = await admin('grant', email)
    expect([granted.code, granted.stdout]).toEqual([
      0,
      expect.stringContaining(`${name} is now an admin of ${TARGET}.`),
    ])
    expect(await next(email)).toEqual({ toolrackAdmin: true, team: 'red', status: 201 })
    const again = `${name} already was an admin of ${TARGET}. Nothing was changed.\n`
    expect(await admin('grant', uid)).toMatchObject({ code: 0, stdout: again })

    const revoked = await admin('revoke', uid)
    expect(revoked.stdout).toContain(`${name} is no longer an admin of ${TARGET}.`)
    expect(await next(email)).toEqual({ toolrackAdmin: undefined, team: 'red', status: 403 })
    expect((await admin('revoke', email)).stdout).toContain('was no admin')
  })

  test.each([
    ['nobody@example.com', /there is no such user/],
    ['nobody', /there is no such user/],
    ['two words', /neither a uid nor a mail address/],
    ['@', /not a mail address/],
  ])('%j is refused in one sentence', async (user, why) => {
    const refused = await admin('grant', user)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(why)
    expect(refused.stderr).toMatch(/^'.*' of .* was not changed: .*\n$/)
  })

  test('without an emulator it says how to start one', async () => {
    const refused = await admin('grant', 'ada@example.com', '127.0.0.1:1')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/npm run dev, or .*--project/)])
  })
})
