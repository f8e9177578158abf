import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { DocumentReference, Firestore, Transaction } from 'firebase-admin/firestore'
import {
  DocumentChanges,
  type WriteMark,
} from '../../../../functions/src/stores/firestore/document-changes.ts'
import type { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import {
  connectionTo,
  describeOnEmulator,
  EMULATOR,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const PLENTY_MS = 30_000
/** Short, so that what never comes is given up soon. */
const SHORT_MS = 1_000
/** Long enough to come to the commit on a busy machine. */
const COMMIT_MS = 5_000
const NOT_CONFIRMED = { code: 'STORE_FAILED', message: expect.stringContaining('did not confirm') }
const NOTHING_WRITTEN = { code: 'STORE_FAILED', message: expect.stringContaining('nothing was written') }

async function addOne(transaction: Transaction, document: DocumentReference, mark?: WriteMark) {
  const count = Number((await transaction.get(document)).get('count') ?? 0) + 1
  transaction.set(document, { count, ...mark })
  return count
}

describeOnEmulator('a change of a document in a transaction', () => {
  let proxy: TcpProxy
  let traffic: FirestoreTraffic
  let direct: Firestore
  let connection: FirestoreConnection
  let changes: DocumentChanges

  beforeEach(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    traffic = new FirestoreTraffic()
    const projectId = newProject()
    direct = openFirestore(projectId)
    connection = connectionTo(projectId, { address: proxy.address })
    changes = new DocumentChanges(connection)
  })
  afterEach(async () => {
    traffic[Symbol.dispose]()
    await proxy.restore()
    await connection.close()
    await direct.terminate()
    await proxy[Symbol.asyncDispose]()
  })

  const find = async () => (await connection.client()).doc('counts/one')
  const stored = async (): Promise<unknown> => (await direct.doc('counts/one').get()).get('count')

  test('the changes of one document by one process never overlap, so each needs one attempt', async () => {
    let attempts = 0
    let running = 0
    const counted = async (transaction: Transaction, document: DocumentReference) => {
      attempts += 1
      running += 1
      expect(running).toBe(1)
      const count = await addOne(transaction, document)
      running -= 1
      return count
    }
    const results = await Promise.all(
      Array.from({ length: 20 }, () => changes.change(PLENTY_MS, find, counted)),
    )
    expect(results).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    expect(attempts).toBe(20)
  })

  test('a change that was reported as failed before its commit does not happen later', async () => {
    await find()
    proxy.hold()
    await expect(changes.change(SHORT_MS, find, addOne)).rejects.toMatchObject(NOTHING_WRITTEN)
    await proxy.restore()
    await connection.calls.ended()
    expect(await stored()).toBeUndefined()
  })

  test('a commit without an answer is not called a write that did not happen', async () => {
    traffic.atNextCommit(() => proxy.hold('answers'))
    await expect(changes.change(COMMIT_MS, find, addOne)).rejects.toMatchObject(NOT_CONFIRMED)
    expect(await stored()).toBe(1)
  })

  test('a repeated attempt recognises its own write by the mark, and answers as the first attempt', async () => {
    traffic.atNextCommit(() => proxy.hold('answers'))
    const changing = changes.change(PLENTY_MS, find, addOne)
    await until(stored, (count) => count === 1)
    await proxy.cut()
    await proxy.restore()
    expect(await changing).toBe(1)
    expect(await stored()).toBe(1)
  })

  test('what the action throws reaches the caller, and nothing is written', async () => {
    const refused = changes.change(PLENTY_MS, find, async (transaction, document) => {
      await addOne(transaction, document)
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await stored()).toBeUndefined()
  })
})
