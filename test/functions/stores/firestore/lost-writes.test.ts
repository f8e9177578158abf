import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { DocumentReference, Firestore } from '@google-cloud/firestore'
import type { JsonObject } from '@toolrack/contract'
import { errorAnswer } from '../../../support/error-answer.ts'
import {
  connectionTo,
  describeOnEmulator,
  EMULATOR,
  newProject,
  openFirestore,
  PATIENT_DEADLINES,
} from '../../../support/firestore-emulator.ts'
import { firestoreService } from '../../../support/firestore-service.ts'
import type { FirestoreService } from '../../../support/firestore-service.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { tool } from '../../../support/tool.ts'
import { until } from '../../../support/until.ts'

/** Short, so that what never comes is given up soon. */
const DEADLINES = { readMs: 1_000, wholeReadMs: 1_000, turnMs: 1_000, writeMs: 1_000 }
const BULK = Array.from({ length: 200 }, (_, index) => tool(`t${index}`))

function send(
  service: FirestoreService,
  method: string,
  path: string,
  body: unknown,
  headers = {},
): Promise<Response> {
  return service.fetch(`/workflows/tools/defs${path}`, { method, body: JSON.stringify(body), headers })
}

function putTool(service: FirestoreService, name: string, text: string, headers = {}): Promise<Response> {
  return send(service, 'PUT', `/${name}?layer=user`, tool(name, text), headers)
}

type Stored = { readonly items: number; readonly versions: number; readonly state: unknown }

describeOnEmulator('a write while Firestore is lost', () => {
  let proxy: TcpProxy
  let traffic: FirestoreTraffic
  let direct: Firestore
  let layer: DocumentReference
  let service: FirestoreService
  let other: FirestoreService
  let projectId: string
  /** Closed together in the end: a client that has lost its connection is slow to close. */
  const open: AsyncDisposable[] = []

  beforeEach(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    traffic = new FirestoreTraffic()
    projectId = newProject()
    direct = openFirestore(projectId)
    layer = direct.collection('users').doc('ann').collection('tools').doc('defs')
    const throughProxy = () => connectionTo(projectId, { address: proxy.address })
    service = await firestoreService(throughProxy(), { deadlines: DEADLINES })
    other = await firestoreService(throughProxy(), { deadlines: PATIENT_DEADLINES })
  })
  afterEach(async () => {
    traffic[Symbol.dispose]()
    await proxy.restore()
    open.push(service, other, proxy, { [Symbol.asyncDispose]: () => direct.terminate() })
  })
  afterAll(async () => {
    await Promise.all(open.map((opened) => opened[Symbol.asyncDispose]()))
  })

  /** What really lies in the layer, past proxy and service. */
  async function stored(): Promise<Stored> {
    const [state, items, versions] = await Promise.all([
      layer.get(),
      layer.collection('items').get(),
      direct.collectionGroup('versions').get(),
    ])
    const { revision, size } = state.data() ?? {}
    return {
      items: items.size,
      versions: versions.size,
      state: state.exists ? { revision, size } : undefined,
    }
  }
  const NOTHING = { items: 0, versions: 0, state: undefined }
  const ALL = { items: 200, versions: 200, state: { revision: 1, size: 200 } }

  test.each([
    ['cut', () => proxy.cut()],
    ['silent', () => proxy.hold()],
  ])('fails with STORE_FAILED when it is %s, and does not happen later', async (_what, lose) => {
    await Promise.resolve(lose())
    const failed = await putTool(service, 'a', 'One.')
    expect(failed.headers.get('retry-after')).toBe('1')
    expect(await errorAnswer(failed)).toMatchObject({
      httpStatus: 503,
      reason: 'STORE_FAILED',
      message: 'The store could not be reached; nothing was written.',
    })
    await proxy.restore()
    await service.ended()
    expect(await stored()).toEqual(NOTHING)
  })

  describe('of 200 definitions', () => {
    test('writes all or nothing when the connection is cut as the commit passes', async () => {
      let chunks = 0
      proxy.onRequestBytes = () => {
        chunks += 1
        if (chunks === 2) void proxy.cut()
      }
      traffic.atNextCommit(() => (chunks = 0))
      await send(service, 'POST', '?layer=user', BULK)
      const found = await stored()
      expect([NOTHING, ALL]).toContainEqual(found)
    })

    test('writes all when only the answer to the commit is lost, and says that it does not know', async () => {
      const connection = connectionTo(projectId, { address: proxy.address })
      // On a busy machine the write needs more than a second to come to its commit.
      const slow = await firestoreService(connection, { deadlines: { ...DEADLINES, writeMs: 5_000 } })
      open.push(slow)
      traffic.atNextCommit(() => proxy.hold('answers'))
      const failed = await send(slow, 'POST', '?layer=user', BULK)
      expect(await errorAnswer(failed)).toMatchObject({
        httpStatus: 503,
        reason: 'STORE_FAILED',
        message: expect.stringContaining('did not confirm'),
      })
      expect(await stored()).toEqual(ALL)
    })

    test('succeeds, once, when the answer to the commit is lost and the store comes back in time', async () => {
      traffic.atNextCommit(() => proxy.hold('answers'))
      const writing = send(other, 'POST', '?layer=user&onConflict=error', BULK)
      await until(stored, ({ items }) => items === 200)
      await proxy.cut()
      await proxy.restore()
      const written = await writing
      const { results } = (await written.json()) as { results: JsonObject[] }
      expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['created']))
      expect(await stored()).toEqual(ALL)
    })
  })

  test('an answer that was lost does not make If-Match fail on its own write', async () => {
    const first = await putTool(other, 'a', 'One.')
    const etag = first.headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    traffic.atNextCommit(() => proxy.hold('answers'))
    const writing = putTool(other, 'a', 'Two.', { 'If-Match': etag })
    await until(stored, ({ versions }) => versions === 2)
    await proxy.cut()
    await proxy.restore()
    expect((await writing).status).toBe(200)
    expect(await stored()).toEqual({ items: 1, versions: 2, state: { revision: 2, size: 1 } })
  })

  test('each of many has its own time, which begins when those before it are done', async () => {
    const deadlines = { ...PATIENT_DEADLINES, writeMs: 6_000 }
    const connection = connectionTo(projectId, { address: proxy.address })
    await using patient = await firestoreService(connection, { deadlines })
    expect((await putTool(patient, 't', 'First.')).status).toBe(201)
    // Each write takes two of these at least, so twelve take longer than the deadline of one.
    proxy.delay(300)
    const started = performance.now()
    const writes = Array.from({ length: 12 }, (_, index) => putTool(patient, `t${index}`, 'One.'))
    const answers = await Promise.all(writes)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(performance.now() - started).toBeGreaterThan(deadlines.writeMs)
  })

  test('of two instances that saw the same definition one writes and one gets 412', async () => {
    await using third = await firestoreService(connectionTo(projectId))
    const etag = (await putTool(other, 'a', 'One.')).headers.get('etag') ?? ''
    const answers = await Promise.all([
      putTool(other, 'a', 'Left.', { 'If-Match': etag }),
      putTool(third, 'a', 'Right.', { 'If-Match': etag }),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
    expect(await stored()).toEqual({ items: 1, versions: 2, state: { revision: 2, size: 1 } })
  })

  test('of twenty writers in two instances each that was told so has written, and no revision is lost', async () => {
    const throughProxy = () => connectionTo(projectId, { address: proxy.address })
    await using first = await firestoreService(throughProxy())
    await using second = await firestoreService(throughProxy())
    const writes = Array.from({ length: 20 }, (_, index) =>
      putTool(index % 2 === 0 ? first : second, `t${index}`, 'One.'),
    )
    await until(stored, ({ items }) => items >= 5)
    await proxy.cut()
    await proxy.restore()
    const answers = await Promise.all(writes)
    const written = answers.filter(({ ok }) => ok)
    const revisions = await Promise.all(
      written.map(async (answer) => ((await answer.json()) as JsonObject)['revision']),
    )
    expect(new Set(revisions).size).toBe(written.length)
    expect(written.length).toBeGreaterThanOrEqual(5)
    const { items, versions, state } = await stored()
    expect(items).toBeGreaterThanOrEqual(written.length)
    expect({ versions, state }).toEqual({ versions: items, state: { revision: items, size: items } })
  })
})
