import { expect, jest, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signIn } from '../../../scripts/toolchain/auth-emulator.mjs'
import { describeWithEmulators } from '../../support/emulators.ts'
import { FullCheckout } from '../../support/full-checkout.ts'
import { until } from '../../support/until.ts'

/** The emulators of the other suites must not be found, only those of the checkout. */
const NO_OTHERS = { FIRESTORE_EMULATOR_HOST: undefined, FIREBASE_AUTH_EMULATOR_HOST: undefined }

type Explained = { readonly layers: readonly { readonly role?: string; readonly digest?: string }[] }

describeWithEmulators('firebase emulators:start by hand', () => {
  // A build and two starts of emulators take more than a minute on a busy machine.
  jest.setTimeout(180_000)
  test('after npm run build it serves lists, job tokens and admins in the project of .firebaserc, and says why it runs no Python', async () => {
    await using checkout = new FullCheckout()
    checkout.run('build.mjs')
    expect(await checkout.ended()).toBe(0)
    const [, line = ''] = /By hand, .*:\n\n {2}(.*)\n$/.exec(checkout.output) ?? []
    const url = `http://127.0.0.1:${await checkout.takePorts()}`
    const { emulators } = JSON.parse(readFileSync(join(checkout.root, 'firebase.json'), 'utf8')) as {
      emulators: { auth: { port: number } }
    }
    expect(line).toMatch(/(?:^| )node_modules\/\.bin\/firebase emulators:start$/)
    expect(line).toContain(`SERVES_CHECKOUT=${realpathSync(checkout.root)} `)
    checkout.runLine(line, NO_OTHERS)
    await checkout.said(/All emulators ready!/)
    const ada = () => signIn(`127.0.0.1:${emulators.auth.port}`, 'ada@example.com')
    const ask = async (path: string, { idToken }: { idToken: string }, init: RequestInit = {}) =>
      fetch(`${url}${path}`, { ...init, headers: { Authorization: `Bearer ${idToken}` } })
    /** The first reads and the first transaction of an emulator take seconds on a busy machine, more than the service waits. */
    const askUntilRead = (...request: Parameters<typeof ask>) =>
      until(
        () => ask(...request),
        ({ status }) => status !== 503,
      )
    const user = await ada()

    expect(await (await ask('/workflows/tools/list?names=READ_FILE', user)).json()).toHaveLength(1)
    const { layers } = (await (
      await ask('/workflows/tools/explain?name=READ_FILE', user)
    ).json()) as Explained
    const digest = layers.find(({ role }) => role === 'winner')?.digest
    const minted = await askUntilRead('/workflows/jobs/tokens', user, {
      method: 'POST',
      body: JSON.stringify({ workflowId: 'nightly', tools: [{ name: 'READ_FILE', digest }] }),
    })
    expect(minted.status).toBe(201)
    const { token } = (await minted.json()) as { token: string }
    expect(await (await ask('/jobs/tools/list', { idToken: token })).json()).toHaveLength(1)
    expect(checkout.output).not.toMatch(/secret environment variables/i)
    const { runner } = (await (await ask('/health', user)).json()) as { runner: object }
    expect(runner).toMatchObject({ status: 'absent', reason: expect.stringContaining('npm run dev') })

    const define = async (who: { idToken: string }) => {
      const init = { method: 'PUT', body: '{}' }
      return (await askUntilRead('/workflows/tools/defs/SAY_HELLO?layer=global', who, init)).status
    }
    expect(await define(user)).toBe(403)
    const admin = [join(checkout.root, 'scripts/admin.mjs'), 'grant', 'ada@example.com']
    await promisify(execFile)(process.execPath, admin, { env: { ...process.env, ...NO_OTHERS } })
    expect([200, 201]).toContain(await define(await ada()))

    checkout.signal('SIGINT')
    expect(await checkout.ended()).toBe(0)
  })
})
