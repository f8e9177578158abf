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
import { newProject } from '../../support/firestore-emulator.ts'
import { Server } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

describeWithEmulators('the same server over Firestore', () => {
  test('with local tokens two servers share one catalog, and each sees what the other writes', async () => {
    const env = {
      TOOLRACK_STORE: 'firestore',
      GOOGLE_CLOUD_PROJECT: newProject(),
      FIRESTORE_EMULATOR_HOST: EMULATORS.firestore,
    }
    await using one = await Server.start({ env })
    await using other = await Server.start({ env })
    const written = await one.fetch('/workflows/tools/defs/A', {
      method: 'PUT',
      body: '{"description":"of one"}',
    })
    expect(written.status).toBe(201)
    const list = async (): Promise<unknown[]> =>
      (await other.fetch('/workflows/tools/list?names=A')).json() as Promise<unknown[]>
    expect(await until(list, (tools) => tools.length > 0)).toMatchObject([
      { function: { description: 'of one' } },
    ])
    expect(existsSync(join(one.data, 'toolrack.db'))).toBe(false)
    expect((await one.stop()).code).toBe(0)
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
    const [ann, root, name] = [await newUser(), await newAdmin(), newName()]
    const body = '{"description":"for all"}'
    const address = `${HOSTING}/workflows/tools/defs/${name}?layer=global`
    expect((await root.fetch(address, { method: 'PUT', body })).status).toBe(201)
    const listed = await until(
      async () =>
        (await ann.fetch(`${server.url}/workflows/tools/list?names=${name}`)).json() as Promise<unknown[]>,
      (tools) => tools.length > 0,
    )
    expect(listed).toMatchObject([{ function: { name, description: 'for all' } }])
    expect(existsSync(data)).toBe(false)
  })
})
