import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import type { DocumentReference, Firestore } from '@google-cloud/firestore'
import type { StoredLayer } from '../../../../functions/src/catalog/views/layer-source.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { by } from '../../../support/definition-changes.ts'
import {
  connectionTo,
  describeOnEmulator,
  EMULATOR,
  newProject,
  openFirestore,
  PATIENT_DEADLINES,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { putModule, removeModule } from '../../../support/module-changes.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
describeOnEmulator('a module’s write while Firestore is lost', () => {
  let proxy: TcpProxy
  let traffic: FirestoreTraffic
  let direct: Firestore
  let tools: DocumentReference
  let store: FirestoreDefinitionStore
  const compilers = new SchemaCompilers()
  /** Closed together in the end: a client that has lost its connection is slow to close. */
  const open: { close: () => Promise<unknown> }[] = []

  beforeEach(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    traffic = new FirestoreTraffic()
    const projectId = newProject()
    direct = openFirestore(projectId)
    tools = direct.collection('users').doc('ann').collection('tools').doc('modules')
    const throughProxy = () => connectionTo(projectId, { address: proxy.address })
    store = new FirestoreDefinitionStore({
      compilers,
      connection: throughProxy(),
      deadlines: PATIENT_DEADLINES,
    })
  })
  afterEach(async () => {
    traffic[Symbol.dispose]()
    await proxy.restore()
    open.push(store, { close: () => direct.terminate() }, { close: () => proxy[Symbol.asyncDispose]() })
  })
  afterAll(async () => {
    await Promise.all(open.map((opened) => opened.close()))
    await compilers.close()
  })

  /** What really lies in the layer, past proxy and store. */
  async function stored() {
    const defs = tools.parent.doc('defs')
    const [state, definitions, module, blobs] = await Promise.all([
      defs.get(),
      defs.collection('items').where('textHash', '>', '').get(),
      tools.collection('items').doc('m').get(),
      tools.collection('blobs').get(),
    ])
    const { revision = 0, size = 0 } = state.data() ?? {}
    return {
      revision,
      size,
      definitions: definitions.size,
      tools: module.data()?.['tools']?.length ?? 0,
      blobs: blobs.size,
    }
  }

  test('does not fail on itself when the answer to its commit is lost', async () => {
    const first = await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
    traffic.atNextCommit(() => proxy.hold('answers'))
    const precondition = { ifMatch: new Set([first.sha256]) }
    const writing = store.writeModule(ANN, putModule('m', ['b', 'c'], 'new', { precondition }), by('ann'))
    await until(stored, ({ revision }) => revision === 2)
    await proxy.cut()
    await proxy.restore()
    expect(await writing).toMatchObject({ outcome: 'updated' })
    expect(await stored()).toEqual({ revision: 2, size: 2, definitions: 2, tools: 2, blobs: 2 })
    traffic.atNextCommit(() => proxy.hold('answers'))
    const deleting = store.writeModule(ANN, removeModule('m'), by('ann'))
    await until(stored, ({ revision }) => revision === 3)
    await proxy.cut()
    await proxy.restore()
    expect(await deleting).toMatchObject({ outcome: 'deleted' })
    expect(await stored()).toEqual({ revision: 3, size: 0, definitions: 0, tools: 0, blobs: 2 })
  })
})
