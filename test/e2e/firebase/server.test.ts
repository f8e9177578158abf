import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  EMULATORS,
  describeWithEmulators,
  HOSTING,
  newAdmin,
  newName,
  newUser,
} from '../../support/emulators.ts'
import type { Person } from '../../support/emulators.ts'
import { Server } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

/** Sends a request to one of two services over the same Firestore. */
type Place = (path: string, init?: RequestInit) => Promise<Response>

const behindHosting =
  (person: Person): Place =>
  (path, init) =>
    person.fetch(HOSTING + path, init)

/** What is written at one place is soon listed at the other. */
async function isShared(written: Place, seen: Place, layer = 'global'): Promise<void> {
  const name = newName()
  const put = { method: 'PUT', body: '{"description":"of one"}' }
  expect((await written(`/workflows/tools/defs/${name}?layer=${layer}`, put)).status).toBe(201)
  const listed = await until(
    async () => (await seen(`/workflows/tools/list?names=${name}`)).json() as Promise<unknown[]>,
    (tools) => tools.length > 0,
  )
  expect(listed).toMatchObject([{ function: { name, description: 'of one' } }])
}

/** A document, where every server with local tokens finds the definitions of its user. */
function keptInFirestore(path: string): Promise<Response> {
  const documents = `http://${EMULATORS.firestore}/v1/projects/${EMULATORS.project}/databases/(default)/documents`
  return fetch(`${documents}/${path}`, { headers: { Authorization: 'Bearer owner' } })
}

describeWithEmulators('the same server over Firestore', () => {
  test('with local tokens it shares one catalog with the functions, and each sees what the other writes', async () => {
    await using server = await Server.start({
      env: {
        TOOLRACK_STORE: 'firestore',
        GOOGLE_CLOUD_PROJECT: EMULATORS.project,
        FIRESTORE_EMULATOR_HOST: EMULATORS.firestore,
      },
    })
    const [ann, root] = [await newUser(), await newAdmin()]
    const here: Place = (path, init) => server.fetch(path, init)
    await isShared(here, behindHosting(ann))
    await isShared(behindHosting(root), here)
    const own = newName()
    const put = { method: 'PUT', body: '{"description":"of one"}' }
    expect((await here(`/workflows/tools/defs/${own}`, put)).status).toBe(201)
    expect((await keptInFirestore(`users/local/tools/defs/items/${own}`)).status).toBe(200)
    expect(existsSync(join(server.data, 'toolrack.db'))).toBe(false)
    expect((await server.stop()).code).toBe(0)
  })

  test('with Firebase tokens it serves what the functions serve, and keeps nothing on its disk', async () => {
    using folder = temporaryFolder()
    const data = join(folder.path, 'data')
    await using server = await Server.start({
      data,
      env: {
        TOOLRACK_STORE: 'firestore',
        TOOLRACK_AUTH: 'firebase',
        GOOGLE_CLOUD_PROJECT: EMULATORS.project,
        FIRESTORE_EMULATOR_HOST: EMULATORS.firestore,
        FIREBASE_AUTH_EMULATOR_HOST: EMULATORS.auth,
      },
    })
    const [ann, root] = [await newUser(), await newAdmin()]
    const here: Place = (path, init) => ann.fetch(server.url + path, init)
    await isShared(behindHosting(root), here)
    await isShared(behindHosting(ann), here, 'user')
    await isShared(here, behindHosting(ann), 'user')
    expect(existsSync(data)).toBe(false)
  })
})
