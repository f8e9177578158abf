import type { ListedTool } from '@toolrack/contract'
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { by, put, tool } from '../../../support/definition-changes.ts'
import { errorAnswer } from '../../../support/error-answer.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  EMULATOR,
  newProject,
} from '../../../support/firestore-emulator.ts'
import { FirestoreInstance } from '../../../support/firestore-instance.ts'
import { firestoreService } from '../../../support/firestore-service.ts'
import type { FirestoreService } from '../../../support/firestore-service.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

type Listed = {
  readonly status: number
  readonly layers: string
  readonly etag: string
  readonly names: string
}

async function list(service: FirestoreService): Promise<Listed> {
  const answer = await service.fetch('/workflows/tools/list')
  const tools = (await answer.json()) as ListedTool[]
  return {
    status: answer.status,
    layers: answer.headers.get('x-tools-layers') ?? '',
    etag: answer.headers.get('etag') ?? '',
    names: tools.map((listed) => listed.function.name).join(),
  }
}

describeOnEmulatorByEach('a list while Firestore is lost', (reading) => {
  let proxy: TcpProxy
  let direct: FirestoreDefinitionStore
  const compilers = new SchemaCompilers()
  let throughProxy: () => FirestoreConnection
  let service: FirestoreService
  /** Closed together in the end: a client that has lost its connection is slow to close. */
  const open: AsyncDisposable[] = []

  beforeEach(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    const projectId = newProject()
    direct = new FirestoreDefinitionStore({
      compilers,
      connection: connectionTo(projectId, { reading }),
    })
    await direct.write({ kind: 'global' }, [put(tool('inGlobal'))], by('root'))
    await direct.write({ kind: 'user', uid: 'ann' }, [put(tool('own'))], by('ann'))
    throughProxy = () => connectionTo(projectId, { reading, address: proxy.address })
    service = await firestoreService(throughProxy())
  })
  afterEach(async () => {
    await proxy.restore()
    open.push(service, proxy, { [Symbol.asyncDispose]: () => direct.close() })
  })
  afterAll(async () => {
    await Promise.all(open.map((opened) => opened[Symbol.asyncDispose]()))
    await compilers.close()
  })

  const logged = (start: string): number => service.logged.filter((line) => line.startsWith(start)).length
  const listUntil = (layers: string): Promise<Listed> =>
    until(
      () => list(service),
      (listed) => listed.layers === layers,
    )

  test('from the start, the files are listed, marked, and all comes once it is there', async () => {
    await proxy.cut()
    expect(await list(service)).toMatchObject({
      status: 200,
      layers: 'user=error,global=error,file=1',
      names: 'inFile',
    })
    const strict = await service.fetch('/workflows/tools/list?strict=1')
    expect(await errorAnswer(strict)).toMatchObject({ httpStatus: 503, reason: 'LAYER_UNAVAILABLE' })
    expect(strict.headers.get('retry-after')).toBe('1')
    const explained = (await (await service.fetch('/workflows/tools/explain?name=own')).json()) as object
    expect(explained).toMatchObject({ visible: false, hidden: { reason: 'LAYER_LOST' } })
    await proxy.restore()
    expect((await listUntil('user=1,global=1,file=1')).names).toBe('own,inGlobal,inFile')
  })

  test('from the start without an answer, the files are listed before Firestore gives up', async () => {
    proxy.hold()
    expect(await list(service)).toMatchObject({ layers: 'user=error,global=error,file=1', names: 'inFile' })
    await proxy.restore()
    expect((await listUntil('user=1,global=1,file=1')).names).toBe('own,inGlobal,inFile')
  })

  test.each([
    ['cut', () => proxy.cut()],
    ['silent', () => proxy.hold()],
    ['four seconds late', () => proxy.delay(4_000)],
  ])(
    'in the middle because it is %s, the last known tools are listed, marked, until it is back',
    async (_what, lose) => {
      const before = await listUntil('user=1,global=1,file=1')
      // On a busy machine the first reads can be late, too.
      const lostBefore = logged('layer could not be read')
      await Promise.resolve(lose())
      const marked = await listUntil('user=stale,global=stale,file=1')
      expect(marked).toMatchObject({ status: 200, names: before.names })
      expect(marked.etag).not.toBe(before.etag)
      expect((await service.fetch('/workflows/tools/list?strict=1')).status).toBe(503)
      expect(logged('layer could not be read') - lostBefore).toBe(2)
      await direct.write({ kind: 'global' }, [put(tool('newer'))], by('root'))
      await proxy.restore()
      const after = await listUntil('user=1,global=2,file=1')
      expect(after.names).toBe('own,inGlobal,newer,inFile')
      expect(logged('layer can be read again')).toBe(logged('layer could not be read'))
      expect(service.logged.filter((line) => line.includes('The store could not be reached'))).toEqual([])
      await until(
        () => service.fetch('/workflows/tools/list?strict=1'),
        ({ status }) => status === 200,
      )
    },
  )

  test('it is not asked again while an earlier question waits for its answer', async () => {
    const instance = new FirestoreInstance(throughProxy())
    await instance.names()
    using traffic = new FirestoreTraffic()
    proxy.hold()
    for (let check = 0; check < 5; check += 1) {
      instance.time += 1_000
      const view = await instance.catalog.view({ uid: 'ann' })
      expect(view.layers.global.status).toBe('stale')
    }
    expect(traffic.rpcs).toEqual(['documents', 'documents'])
    await proxy.restore()
    await instance.names()
    open.push({ [Symbol.asyncDispose]: () => instance.close() })
  })
})
