import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Firestore } from '@google-cloud/firestore'
import { isJsonObject } from '@toolrack/contract'
import { EVERYBODY, put, type Collection } from '../../../../functions/src/documents/collection.ts'
import { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreDocuments } from '../../../../functions/src/stores/firestore/firestore-documents.ts'
import { documentsContract } from '../../../support/documents.contract.ts'
import {
  connectionTo,
  describeOnEmulator,
  describeOnEmulatorByEach,
  EMULATOR,
  newProject,
  openFirestore,
  twoFirestoreDocuments,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const NOTES: Collection = { name: 'notes', owner: 'both', fields: isJsonObject, hasBody: true }
const NOTE = { of: NOTES, key: 'a' }

describeOnEmulatorByEach('documents in Firestore', (reading) => {
  // An eighth of the bound in the suite, and one body.
  documentsContract(() => twoFirestoreDocuments(reading), { slackBytes: 100_000 / 8 + 10_000 })

  test.each([
    ['users/ann/tools/notes/kept/a', 'ann'],
    ['tools/notes/kept/a', EVERYBODY],
  ])('the document %s without a text cannot be read and not be changed', async (path, owner) => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    await firestore.doc(path).set({ other: 1 })
    const connection = connectionTo(projectId, { reading })
    const documents = new FirestoreDocuments(connection)
    const change = documents.change(owner, [NOTE], () => ({ result: undefined, writes: [put(NOTE, {})] }))
    for (const refused of [documents.read(owner, [NOTE]), change, documents.claim(owner, NOTE, {})])
      await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect((await firestore.doc(path).get()).data()).toEqual({ other: 1 })
    await connection.close()
    await firestore.terminate()
  })
})

test('a store that cannot be reached refuses everything', async () => {
  const connection = new FirestoreConnection(() => Promise.reject(new Error('no network')))
  const documents = new FirestoreDocuments(connection)
  await documents.open()
  const change = documents.change('ann', [NOTE], () => ({ result: undefined }))
  for (const refused of [
    documents.read('ann', [NOTE]),
    documents.list('ann', NOTES, { limit: 1 }),
    documents.claim('ann', NOTE, {}),
    documents.history('ann', NOTE),
    change,
  ])
    await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

describeOnEmulator('a write of a document while Firestore is lost', () => {
  let proxy: TcpProxy
  let traffic: FirestoreTraffic
  let direct: Firestore
  let connection: FirestoreConnection
  let documents: FirestoreDocuments

  beforeEach(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    traffic = new FirestoreTraffic()
    const projectId = newProject()
    direct = openFirestore(projectId)
    connection = connectionTo(projectId, { address: proxy.address, reading: 'the client' })
    documents = new FirestoreDocuments(connection)
    await connection.client()
  })
  afterEach(async () => {
    traffic[Symbol.dispose]()
    await proxy.restore()
    await connection.close()
    await direct.terminate()
    await proxy[Symbol.asyncDispose]()
  })

  const stored = async (): Promise<unknown> =>
    (await direct.doc('users/ann/tools/notes/kept/a').get()).get('text')
  const addOne = () =>
    documents.change('ann', [NOTE], ([kept]) => {
      const { count = 0 } = (kept?.fields ?? {}) as { count?: number }
      return { result: count + 1, writes: [put(NOTE, { count: count + 1 })] }
    })
  const short = { ...NOTE, of: { ...NOTES, waitMs: { read: 5_000, change: 5_000 } } }

  test('a commit without an answer is not called a write that did not happen', async () => {
    traffic.atNextCommit(() => proxy.hold('answers'))
    const change = documents.change('ann', [short], () => ({ result: 1, writes: [put(short, { count: 1 })] }))
    await expect(change).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('did not confirm'),
    })
    expect(await stored()).toBe('{"count":1}')
  })

  test('a repeated change recognises its own write, and is done once', async () => {
    traffic.atNextCommit(() => proxy.hold('answers'))
    const changing = addOne()
    await until(stored, (text) => text !== undefined)
    await proxy.cut()
    await proxy.restore()
    expect(await changing).toBe(1)
    expect(await stored()).toBe('{"count":1}')
  })

  test('a repeated claim recognises its own write', async () => {
    const to = { of: { ...NOTES, waitMs: { read: 30_000, change: 30_000 } }, key: 'a' }
    traffic.atNextCommit(() => proxy.hold('answers'))
    const claiming = documents.claim('ann', to, { count: 1 })
    await until(stored, (text) => text !== undefined)
    await proxy.cut()
    await proxy.restore()
    expect(await claiming).toBeUndefined()
    expect((await documents.claim('ann', to, { count: 2 }))?.fields).toEqual({ count: 1 })
  })

  test('a write that was reported as failed before its commit does not happen later', async () => {
    proxy.hold()
    const change = documents.change('ann', [short], () => ({ result: 1, writes: [put(short, { count: 1 })] }))
    await expect(change).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await proxy.restore()
    await connection.calls.ended()
    expect(await stored()).toBeUndefined()
  })
})
