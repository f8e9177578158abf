import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { REVISION_CHECK_MS } from '../../../../functions/src/catalog/views/layer-cache.ts'
import type { StoredLayer } from '../../../../functions/src/catalog/views/layer-source.ts'
import {
  ClientLayerReader,
  RestLayerReader,
} from '../../../../functions/src/stores/firestore/layer-readers.ts'
import type { LayerReader } from '../../../../functions/src/stores/firestore/layer-readers.ts'
import { by, put, remove, tool } from '../../../support/definition-changes.ts'
import { connectionTo, describeOnEmulatorByEach, newProject } from '../../../support/firestore-emulator.ts'
import type { Reading } from '../../../support/firestore-emulator.ts'
import { FirestoreInstance } from '../../../support/firestore-instance.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const GLOBAL: StoredLayer = { kind: 'global' }
const REVISIONS = ['tools/defs', 'users/ann/tools/defs']

/** Does something after the next read of a layer's revision, before its items are asked for. */
function afterNextRead(reading: Reading, act: () => Promise<unknown>) {
  const prototype: LayerReader = reading === 'REST' ? RestLayerReader.prototype : ClientLayerReader.prototype
  const read = prototype.read
  return jest.spyOn(prototype, 'read').mockImplementationOnce(async function (this: LayerReader, signal) {
    const layer = await read.call(this, signal)
    await act()
    return layer
  })
}

describeOnEmulatorByEach('what a list costs', (reading) => {
  let traffic: FirestoreTraffic
  let reader: FirestoreInstance
  let writer: FirestoreInstance
  let projectId: string

  beforeEach(async () => {
    traffic = new FirestoreTraffic()
    projectId = newProject()
    reader = new FirestoreInstance(connectionTo(projectId, { reading }))
    writer = new FirestoreInstance(connectionTo(projectId, { reading }))
    await writer.store.write(GLOBAL, [put(tool('a')), put(tool('b')), put(tool('c'))], by('root'))
    await writer.store.write(ANN, [put(tool('mine'))], by('ann'))
    await reader.catalog.load()
    await reader.names()
    traffic.restart()
  })
  afterEach(async () => {
    traffic[Symbol.dispose]()
    await reader.close()
    await writer.close()
  })

  test('a cold list reads each layer once: its revision and its definitions', async () => {
    expect(await writer.names()).toEqual(['mine', 'a', 'b', 'c', 'inFile'])
    expect(traffic.read.toSorted()).toEqual(
      [
        ...REVISIONS,
        'tools/defs/items/a',
        'tools/defs/items/b',
        'tools/defs/items/c',
        'users/ann/tools/defs/items/mine',
      ].toSorted(),
    )
    expect(traffic.rpcs.toSorted()).toEqual(['documents', 'documents', 'query', 'query'])
  })

  test('a warm list asks for nothing, however often', async () => {
    for (let count = 0; count < 100; count += 1) await reader.names()
    reader.time += REVISION_CHECK_MS - 1
    await reader.names()
    expect(traffic.rpcs).toEqual([])
  })

  test('a check of layers that have not changed reads exactly their two revisions', async () => {
    await reader.namesAtNextCheck()
    expect(traffic.read.toSorted()).toEqual(REVISIONS)
    expect(traffic.rpcs).toEqual(['documents', 'documents'])
  })

  test('a hundred lists that wait for the same check share it', async () => {
    reader.time += REVISION_CHECK_MS
    await Promise.all(Array.from({ length: 100 }, () => reader.names()))
    expect(traffic.read.toSorted()).toEqual(REVISIONS)
  })

  test('a changed layer costs one read for the check and one for each changed definition, tombstones included', async () => {
    await writer.store.write(GLOBAL, [put(tool('b', 'Other.')), put(tool('d'))], by('root'))
    await writer.store.write(GLOBAL, [remove('c')], by('root'))
    traffic.restart()
    expect(await reader.namesAtNextCheck()).toEqual(['mine', 'a', 'b', 'd', 'inFile'])
    expect(traffic.read.toSorted()).toEqual(
      [...REVISIONS, 'tools/defs/items/b', 'tools/defs/items/c', 'tools/defs/items/d'].toSorted(),
    )
    expect(traffic.rpcs).toEqual(['documents', 'documents', 'query'])
  })

  test('a write is seen by another instance at its next check', async () => {
    await writer.store.write(ANN, [put(tool('new'))], by('ann'))
    expect(await reader.names()).not.toContain('new')
    expect(await reader.namesAtNextCheck()).toContain('new')
  })

  test('a writer sees its own write at once, for one check and the changed definition', async () => {
    await reader.store.write(ANN, [put(tool('new'))], by('ann'))
    reader.catalog.markWritten(ANN)
    traffic.restart()
    expect(await reader.names()).toContain('new')
    expect(traffic.read.toSorted()).toEqual(['users/ann/tools/defs', 'users/ann/tools/defs/items/new'])
  })

  test('a write that changes nothing makes nobody read a definition', async () => {
    await writer.store.write(GLOBAL, [put(tool('a'))], by('root'))
    traffic.restart()
    await reader.namesAtNextCheck()
    expect(traffic.read.toSorted()).toEqual(REVISIONS)
  })

  test('a write reads the revision and what it is about, and commits once', async () => {
    await writer.store.write(GLOBAL, [put(tool('a', 'Other.')), put(tool('z'))], by('root'))
    expect(traffic.read.toSorted()).toEqual(['tools/defs', 'tools/defs/items/a', 'tools/defs/items/z'])
    expect(traffic.rpcs).toEqual(['documents', 'commit'])
  })

  test('a user without definitions costs one read, and later one for each check', async () => {
    await reader.names('bob')
    expect(traffic.rpcs).toEqual(['documents', 'query'])
    expect(traffic.read).toEqual(['users/bob/tools/defs'])
    traffic.restart()
    await reader.namesAtNextCheck('bob')
    expect(traffic.read.toSorted()).toEqual(['tools/defs', 'users/bob/tools/defs'])
    expect(traffic.rpcs).toEqual(['documents', 'documents'])
  })

  test.each([['whole'], ['of changes']])(
    'a read %s shows the moment of its revision and nothing later',
    async (kind) => {
      const instance = new FirestoreInstance(connectionTo(projectId, { reading }))
      const source = instance.store.layer(GLOBAL)
      const since = kind === 'whole' ? undefined : (await source.read()).revision
      await writer.store.write(GLOBAL, [put(tool('a', 'Now.'))], by('root'))
      const spy = afterNextRead(reading, () =>
        writer.store.write(GLOBAL, [put(tool('a', 'Later.'))], by('root')),
      )
      const now = await source.read(since)
      spy.mockRestore()
      expect(now.definitions.find(({ name }) => name === 'a')?.text).toContain('Now.')
      const later = await source.read(now.revision)
      expect(later.definitions.map(({ text }) => text)).toEqual([expect.stringContaining('Later.')])
      await instance.close()
    },
  )
})
