import { Firestore } from '@google-cloud/firestore'
import { expect, jest, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { cloudServices } from '../../../../functions/src/hosts/cloud/services.ts'
import { parseConfig } from '../../../../functions/src/hosts/config.ts'
import { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { closeServices } from '../../../../functions/src/hosts/services.ts'
import { describeOnEmulator, newProject, openFirestore } from '../../../support/firestore-emulator.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

describeOnEmulator('the connection to Firestore', () => {
  test('whoever asks at the same time gets one client, which is closed once and after what is under way', async () => {
    const firestore = openFirestore(newProject())
    const closed = jest.spyOn(firestore, 'terminate')
    let made = 0
    const connection = new FirestoreConnection(() => {
      made += 1
      return Promise.resolve(firestore)
    })
    const clients = await Promise.all([connection.client(), connection.client()])
    expect([made, new Set(clients).size]).toEqual([1, 1])
    const call = Promise.withResolvers<void>()
    void connection.calls.track(call.promise)
    const closings = [connection.close(), connection.close()]
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed).toHaveBeenCalledTimes(0)
    call.resolve()
    await Promise.all(closings)
    await connection.close()
    expect(closed).toHaveBeenCalledTimes(1)
  })

  test('definitions and logs of the functions are asked for by one client', async () => {
    const before = process.env['GOOGLE_CLOUD_PROJECT']
    const project = newProject()
    process.env['GOOGLE_CLOUD_PROJECT'] = project
    const closed = jest.spyOn(Firestore.prototype, 'terminate')
    try {
      const env = { TOOLRACK_STORE: 'firestore', TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: project }
      const services = cloudServices(parseConfig(env), log)
      expect(await services.store.versions({ kind: 'user', uid: 'ann' }, 'a')).toEqual([])
      expect(await services.logs.find('ann', randomUUID())).toBeUndefined()
      await closeServices(services)
      expect(closed).toHaveBeenCalledTimes(1)
    } finally {
      closed.mockRestore()
      if (before === undefined) delete process.env['GOOGLE_CLOUD_PROJECT']
      else process.env['GOOGLE_CLOUD_PROJECT'] = before
    }
  })
})

test('a client that can not be made is asked for again', async () => {
  let tries = 0
  const connection = new FirestoreConnection(() => {
    tries += 1
    return Promise.reject(new Error('no credentials'))
  })
  await expect(connection.client()).rejects.toThrow('no credentials')
  await expect(connection.client()).rejects.toThrow('no credentials')
  expect(tries).toBe(2)
  await connection.close()
})
