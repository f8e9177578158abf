import { afterAll, expect, test } from '@jest/globals'
import { FieldValue } from '@google-cloud/firestore'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import type { StoredLayer } from '../../../../functions/src/catalog/views/layer-source.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { by } from '../../../support/definition-changes.ts'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { lockOf, putModule, sha256Of } from '../../../support/module-changes.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }

describeOnEmulator('modules that an earlier version has written', () => {
  const compilers = new SchemaCompilers()
  afterAll(() => compilers.close())

  test('are read without grants, and take a lock', async () => {
    const projectId = newProject()
    const direct = openFirestore(projectId)
    const store = new FirestoreDefinitionStore({ compilers, connection: connectionTo(projectId) })
    await store.writeModule(ANN, putModule('m', ['a'], 'text'), by('ann'))
    const document = direct.doc('users/ann/tools/modules/items/m')
    const [version] = await document.collection('versions').listDocuments()
    const earlier = { granted: FieldValue.delete(), environment: FieldValue.delete() }
    await document.update(earlier)
    await version?.update({ environment: FieldValue.delete() })

    const module = await store.module(ANN, 'm')
    expect(Object.keys(module ?? {}).toSorted()).toEqual(
      ['name', 'report', 'revision', 'sha256', 'tools', 'updatedAt', 'updatedBy'].toSorted(),
    )
    expect((await store.modules(ANN, { limit: 1 }))[0]).not.toHaveProperty('grants')
    expect((await store.writeModule(ANN, putModule('m', ['a'], 'text'), by('ann'))).outcome).toBe('unchanged')
    const lock = lockOf('1.0')
    await store.writeModule(ANN, putModule('m', ['a'], 'text', { lock }), by('ann'))
    const versions = await store.moduleVersions(ANN, 'm')
    expect(versions.map(({ environment }) => environment)).toEqual([lock.digest, undefined])
    expect(await store.lock(ANN, sha256Of('text'), lock.digest)).toEqual(lock)
    await store.close()
    await direct.terminate()
  })
})
