import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import type { DocumentReference, Firestore } from '@google-cloud/firestore'
import type { StoredLayer } from '../../../../functions/src/catalog/views/layer-source.ts'
import { FirestoreDefinitionStore } from '../../../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { recordBytes } from '../../../../functions/src/catalog/definitions/layer-totals.ts'
import { by, put, remove, tool } from '../../../support/definition-changes.ts'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'
import { putModule, removeModule } from '../../../support/module-changes.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const large = (name: string, mark: string) => put(tool(name, `${mark}${'x'.repeat(4_000)}`))

/** The versions of every name, and their contents. */
async function shape(of: FirestoreDefinitionStore | MemoryDefinitionStore): Promise<unknown> {
  return Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const names = [`t${index}`, `t${index}x`, `t${index}:a`, `t${index}:b`]
      const versions = await Promise.all(names.map((name) => of.versions(ANN, name)))
      const texts = versions.map((each) => each.map(({ text }) => text))
      const modules = await of.moduleVersions(ANN, `t${index}`)
      return [texts, modules.map(({ sha256 }) => sha256)]
    }),
  )
}

describeOnEmulator('a layer that is counted', () => {
  const compilers = new SchemaCompilers()
  let direct: Firestore
  let layer: DocumentReference
  let store: FirestoreDefinitionStore

  beforeEach(() => {
    const projectId = newProject()
    direct = openFirestore(projectId)
    layer = direct.doc('users/ann/tools/defs')
    store = new FirestoreDefinitionStore({ compilers, connection: connectionTo(projectId) })
  })
  afterEach(async () => {
    await direct.terminate()
    await store.close()
  })
  afterAll(() => compilers.close())

  const totals = async (): Promise<unknown> => (await layer.get()).get('totals')

  async function writeSome(limits = {}): Promise<void> {
    const context = by('ann', 1_000, limits)
    for (const mark of ['0', '1', '2'])
      await store.write(ANN, [large('aa', mark), large('bb', mark)], context)
    await store.writeModule(ANN, putModule('m', ['a', 'b'], 'one'), context)
    await store.writeModule(ANN, putModule('m', ['a'], 'two'), context)
    await store.writeModule(ANN, putModule('n', ['a'], 'two'), context)
    await store.writeModule(ANN, removeModule('n'), context)
    await store.write(ANN, [remove('bb')], context)
  }

  test('counts what the documents say', async () => {
    await writeSome({ bytesMax: 40_000, deletedMax: 3 })
    const counted = await totals()
    await layer.delete()
    const wide = by('ann', 1_000, { bytesMax: 80_000, deletedMax: 1_000 })
    await store.write(ANN, [put(tool('cc'))], wide)
    await store.write(ANN, [remove('cc')], wide)
    const again = (await totals()) as { bytes: number; presentBytes: number; deleted: number }
    const version = recordBytes(put(tool('cc')).text)
    // The name, its version and its deletion.
    const more = version + 2 * recordBytes()
    expect(again.bytes).toBe((counted as { bytes: number }).bytes + more)
    expect(counted).toMatchObject({ presentBytes: again.presentBytes })
    expect(again.deleted).toBe(((counted as { deleted: number }).deleted ?? 0) + 1)
  })

  test('one of before is counted once, and what it had goes as anything that is past', async () => {
    await writeSome()
    const items = await layer.collection('items').get()
    for (const item of items.docs) {
      const { sizes: _sizes, oldest: _oldest, deletedAt: _deletedAt, ...before } = item.data()
      await item.ref.set(before)
    }
    const { totals: _totals, floor: _floor, ...state } = (await layer.get()).data() ?? {}
    await layer.set(state)
    using traffic = new FirestoreTraffic()
    await store.write(ANN, [put(tool('cc'))], by('ann'))
    expect(traffic.rpcs.filter((rpc) => rpc === 'query')).toHaveLength(2)
    expect(await totals()).toMatchObject({ deleted: 4 })
    traffic.restart()
    await store.write(ANN, [put(tool('dd'))], by('ann'))
    expect(traffic.rpcs).toEqual(['documents', 'commit'])
    expect(await store.versions(ANN, 'aa')).toHaveLength(3)
    await store
      .write(ANN, [put(tool('ee'))], by('ann', 1_000, { bytesMax: 1, deletedMax: 0 }))
      .catch(() => undefined)
    await store.write(ANN, [remove('dd')], by('ann', 1_000, { bytesMax: 1, deletedMax: 0 }))
    expect((await store.versions(ANN, 'aa')).length).toBe(1)
    expect(await store.versions(ANN, 'bb')).toEqual([])
    expect((await store.layer(ANN).read()).definitions.map(({ name }) => name).toSorted()).toEqual([
      'aa',
      'cc',
      'm:a',
    ])
  })

  test('a write that makes room asks once for definitions and once for modules', async () => {
    const context = by('ann', 1_000, { bytesMax: 20_000 })
    for (const mark of ['0', '1', '2']) await store.write(ANN, [large('aa', mark)], context)
    using traffic = new FirestoreTraffic()
    await store.write(ANN, [large('aa', '3')], context)
    expect(traffic.rpcs).toEqual(['documents', 'query', 'query', 'commit'])
    expect(await store.versions(ANN, 'aa')).toHaveLength(3)
  })

  test('after many writes of every kind it has what the store of the tests has', async () => {
    const memory = new MemoryDefinitionStore()
    const limits = { bytesMax: 30_000, deletedMax: 2 }
    let seed = 11
    const random = (below: number): number => ((seed = (seed * 48_271) % 2_147_483_647) >>> 8) % below
    for (let index = 0; index < 80; index += 1) {
      const name = `t${random(5)}`
      const text = 'ü'.repeat(random(900))
      const kind = random(4)
      const write = (to: FirestoreDefinitionStore | MemoryDefinitionStore): Promise<unknown> => {
        const context = by('ann', 1_000, limits)
        if (kind === 0) return to.write(ANN, [put(tool(name, text)), put(tool(`${name}x`, text))], context)
        if (kind === 1) return to.write(ANN, [remove(name)], context)
        if (kind === 2) return to.writeModule(ANN, putModule(name, ['a', 'b'], `${text}.`), context)
        return to.writeModule(ANN, removeModule(name), context)
      }
      const codes = await Promise.all(
        [store, memory].map((to) =>
          write(to).then(
            () => 'ok',
            (error: unknown) => (error as { code: string }).code,
          ),
        ),
      )
      expect(codes[0]).toBe(codes[1])
    }
    expect(await shape(store)).toEqual(await shape(memory))
  })
})
