import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { CollectionReference, DocumentData, DocumentReference, Firestore } from '@google-cloud/firestore'
import { GeoPoint, Timestamp } from '@google-cloud/firestore'
import type { StoredLayer } from '../../../../functions/src/catalog/views/layer-source.ts'
import { WHOLE_READ_MS } from '../../../../functions/src/stores/firestore/firestore-layer-source.ts'
import { by, put, remove, tool } from '../../../support/definition-changes.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { FirestoreInstance } from '../../../support/firestore-instance.ts'
import { firestoreService } from '../../../support/firestore-service.ts'
import { until } from '../../../support/until.ts'
import type { DefinitionWriteResult } from '../../../../functions/src/catalog/definitions/definition-change.ts'

const GLOBAL: StoredLayer = { kind: 'global' }

/** A definition as the best-known other implementation keeps it: its schema as a map. */
function foreign(name: string, more: DocumentData = {}): DocumentData {
  return { ...tool(name, `Foreign ${name}.`), ...more }
}

/** A definition with this as its schema. */
function withParameters(value: unknown): DocumentData {
  return foreign('x', { function: { name: 'x', description: '', parameters: value } })
}

/** Lets five minutes pass and waits until the catalog has looked at the whole layer. */
async function namesAfterWholeRead(from: FirestoreInstance, wanted: readonly string[]): Promise<void> {
  from.time += WHOLE_READ_MS
  await until(
    () => from.namesAtNextCheck(),
    (names) => names.join() === wanted.join(),
  )
}

describeOnEmulatorByEach('documents of other programs', (reading) => {
  let projectId: string
  let firestore: Firestore
  let instance: FirestoreInstance
  let other: FirestoreInstance
  let layer: DocumentReference
  let items: CollectionReference

  beforeEach(() => {
    projectId = newProject()
    firestore = openFirestore(projectId)
    instance = new FirestoreInstance(connectionTo(projectId, { reading }))
    other = new FirestoreInstance(connectionTo(projectId, { reading }))
    layer = firestore.collection('tools').doc('defs')
    items = layer.collection('items')
  })
  afterEach(async () => {
    await instance.close()
    await other.close()
    await firestore.terminate()
  })

  async function skipped(): Promise<readonly string[]> {
    const read = await instance.store.layer(GLOBAL).read()
    return read.skipped.map(({ source, pointer, message }) => `${source}${pointer}: ${message}`)
  }

  async function digest(name: string): Promise<string> {
    const { definitions } = await instance.store.layer(GLOBAL).read()
    return definitions.find((definition) => definition.name === name)?.digest ?? ''
  }

  async function replaced(name: string): Promise<readonly DocumentData[]> {
    const documents = await items.doc(name).collection('replaced').get()
    return documents.docs.map((document) => document.data())
  }

  function writeA(options: Parameters<typeof put>[1]): Promise<readonly DefinitionWriteResult[]> {
    return instance.store.write(GLOBAL, [put(tool('a'), options)], by('root'))
  }

  describe('read', () => {
    test('are listed beside ours, whatever their ids and notes', async () => {
      await instance.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      await items
        .doc('Xk3 9/ü'.replace('/', '-'))
        .set(foreign('byAnyId', { createdAt: Timestamp.now(), owner: layer }))
      await items.doc('flat').set({ ...foreign('flat')['function'], note: new GeoPoint(1, 2) })
      expect(await instance.names()).toEqual(['byAnyId', 'flat', 'ours', 'inFile'])
      expect(await skipped()).toEqual([])
    })

    test('broken ones are left out and named, and their siblings are served', async () => {
      await instance.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      const broken: Record<string, DocumentData> = {
        empty: {},
        'no name': { type: 'function', function: { description: 'No name.', parameters: {} } },
        number: { type: 'function', function: 7 },
        text: withParameters('{"type":"object"}'),
        list: withParameters([]),
        place: withParameters({ type: 'object', default: new GeoPoint(1, 2) }),
        reference: foreign('x', { annotations: { self: layer } }),
        bytes: foreign('x', { category: Buffer.from('x') }),
        huge: withParameters({ type: 'object', description: 'x'.repeat(900_000) }),
        long: { name: 'x', description: 'x'.repeat(900_000) },
        badName: foreign('not a name'),
        reserved: foreign('constructor'),
        badSchema: withParameters({ type: 'nothing' }),
        ourShape: { name: 'ourShape', text: '{', textHash: '', digest: '', revision: 'x', versions: 0 },
      }
      for (const [id, data] of Object.entries(broken)) await items.doc(id).set(data)
      await items.doc('good').set(foreign('good'))
      expect(await instance.names()).toEqual(['good', 'ours', 'inFile'])
      const told = await skipped()
      for (const id of Object.keys(broken))
        expect(told.filter((line) => line.startsWith(`document ${id}`))).not.toEqual([])
      expect(told.filter((line) => /document (good|ours)/.test(line))).toEqual([])
      expect(told).toContain(
        'document place/function/parameters/default: is a GeoPoint, which has no form in JSON',
      )
      expect(told.every((line) => line.length < 500)).toBe(true)
    })

    test('a broken one is told of by explain and once by the log, and its layer is whole', async () => {
      await items.doc('BROKEN').set({ type: 'function', function: { name: 'BROKEN', parameters: 7 } })
      await using service = await firestoreService(connectionTo(projectId, { reading }))
      const ask = async (path: string): Promise<unknown> => (await service.fetch(path)).json()
      const strict = '/workflows/tools/list?strict=1'
      await until(
        () => service.fetch(strict),
        ({ ok }) => ok,
      )
      for (let count = 0; count < 3; count += 1) await ask(strict)
      const explanation = await ask('/workflows/tools/explain?name=BROKEN')
      const told = { source: 'document BROKEN', pointer: '/function/parameters', name: 'BROKEN' }
      expect(explanation).toMatchObject({
        hidden: { reason: 'NOT_DEFINED', message: expect.stringContaining('global holds of it') },
        layers: [
          { layer: 'user', status: 'absent' },
          { layer: 'global', status: 'absent', skipped: [expect.objectContaining(told)] },
          { layer: 'file', status: 'absent' },
        ],
      })
      expect(service.logged.filter((line) => line.includes('document BROKEN'))).toHaveLength(1)
    })

    test('of two with one name ours wins, then the first id, and the other is named', async () => {
      await items.doc('2nd').set(foreign('twice'))
      await items.doc('1st').set(foreign('twice', { tags: ['first'] }))
      await items.doc('free').set(foreign('ours'))
      await instance.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      const read = await instance.store.layer(GLOBAL).read()
      const contents = Object.fromEntries(read.definitions.map(({ name, text }) => [name, text]))
      expect(contents['ours']).toBe(JSON.stringify(tool('ours')))
      expect(contents['twice']).toContain('first')
      expect(await skipped()).toEqual([
        'document 2nd: the name twice is taken by another document',
        'document free: the name ours is taken by another document',
      ])
    })

    test('come, change and go without a revision, and are seen after five minutes', async () => {
      await instance.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      expect(await instance.names()).toEqual(['ours', 'inFile'])
      await items.doc('late').set(foreign('late'))
      expect(await instance.namesAtNextCheck()).toEqual(['ours', 'inFile'])
      await namesAfterWholeRead(instance, ['late', 'ours', 'inFile'])
      await items.doc('late').set(foreign('renamed'))
      await namesAfterWholeRead(instance, ['ours', 'renamed', 'inFile'])
      await items.doc('late').delete()
      await namesAfterWholeRead(instance, ['ours', 'inFile'])
    })

    test('do not make the changes of ours more expensive', async () => {
      await items.doc('theirs').set(foreign('theirs'))
      await instance.store.write(GLOBAL, [put(tool('a')), put(tool('b'))], by('root'))
      const source = instance.store.layer(GLOBAL)
      const { revision } = await source.read()
      await other.store.write(GLOBAL, [put(tool('b', 'Other.'))], by('root'))
      const read = await source.read(revision)
      expect(read).toMatchObject({ whole: false, deleted: [] })
      expect(read.definitions.map(({ name }) => name)).toEqual(['b'])
      expect((await source.read(read.revision)).revision).toBe(read.revision)
    })

    test('whose name one of ours takes or frees are seen at once', async () => {
      await items.doc('free').set(foreign('shared'))
      await other.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      const text = async () => (await instance.catalog.view({ uid: 'ann' })).winner('shared')?.stored.text
      // On a busy machine the first look at a layer can be given up.
      expect(await until(text, (found) => found !== undefined)).toContain('Foreign shared.')
      await other.store.write(GLOBAL, [put(tool('shared'))], by('root'))
      await instance.namesAtNextCheck()
      expect(await text()).toBe(JSON.stringify(tool('shared')))
      await other.store.write(GLOBAL, [remove('shared')], by('root'))
      await instance.namesAtNextCheck()
      expect(await text()).toContain('Foreign shared.')
    })
  })

  describe('under an id that we write', () => {
    test('count as the present content of that name', async () => {
      await items.doc('a').set(foreign('a'))
      await expect(writeA({ onConflict: 'error' })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
      await expect(writeA({ precondition: { ifNoneMatch: '*' } })).rejects.toMatchObject({
        code: 'PRECONDITION_FAILED',
      })
      await expect(writeA({ precondition: { ifMatch: new Set(['sha256:0']) } })).rejects.toMatchObject({
        code: 'PRECONDITION_FAILED',
      })
      expect((await writeA({ onConflict: 'skip' }))[0]?.outcome).toBe('skipped')
      expect((await items.doc('a').get()).data()).toEqual(foreign('a'))
      const [outcome] = await writeA({ precondition: { ifMatch: new Set([await digest('a')]) } })
      expect(outcome?.outcome).toBe('updated')
    })

    test('are kept: as a version that can be rolled back to, and as they were', async () => {
      const data = foreign('a', { createdAt: Timestamp.fromMillis(1_000), home: new GeoPoint(1, 2) })
      await items.doc('a').set(data)
      await instance.store.write(GLOBAL, [put(tool('a'))], by('root'))
      const versions = await instance.store.versions(GLOBAL, 'a')
      expect(versions.map(({ text, by: writer }) => [text?.includes('Foreign a.'), writer])).toEqual([
        [false, 'root'],
        [true, '(another program)'],
      ])
      expect(await replaced('a')).toEqual([data])
      expect(await instance.names()).toEqual(['a', 'inFile'])
      expect(await skipped()).toEqual([])
    })

    test('are deleted as ours are, and stay readable as a version', async () => {
      await items.doc('a').set(foreign('a'))
      const [outcome] = await instance.store.write(GLOBAL, [remove('a')], by('root'))
      expect(outcome?.outcome).toBe('deleted')
      expect(await instance.names()).toEqual(['inFile'])
      expect((await instance.store.versions(GLOBAL, 'a')).map(({ text }) => text === undefined)).toEqual([
        true,
        false,
      ])
      await expect(instance.store.write(GLOBAL, [remove('a')], by('root'))).rejects.toMatchObject({
        code: 'TOOL_NOT_FOUND',
      })
    })

    test.each([
      ['broken', { anything: 1 }],
      ['a definition of another name', foreign('b')],
      ['as large as a document may be', { junk: 'x'.repeat(1_000_000) }],
    ])('are no content when they are %s; then they are kept as they were', async (_title, data) => {
      await items.doc('a').set(data)
      await expect(instance.store.write(GLOBAL, [remove('a')], by('root'))).rejects.toMatchObject({
        code: 'TOOL_NOT_FOUND',
      })
      const created = put(tool('a'), { onConflict: 'error' })
      expect((await instance.store.write(GLOBAL, [created], by('root')))[0]?.outcome).toBe('created')
      expect(await replaced('a')).toEqual([data])
      expect(await instance.store.versions(GLOBAL, 'a')).toHaveLength(1)
    })

    test('what an instance shows changes at its next check, their other names included', async () => {
      await items.doc('a').set(foreign('b'))
      await other.store.write(GLOBAL, [put(tool('ours'))], by('root'))
      expect(await instance.names()).toEqual(['b', 'ours', 'inFile'])
      await other.store.write(GLOBAL, [put(tool('a'))], by('root'))
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'ours', 'inFile'])
    })

    test('the limit of a layer counts what is ours', async () => {
      await items.doc('a').set(foreign('a'))
      await instance.store.write(GLOBAL, [put(tool('a')), put(tool('b'))], by('root', 3))
      await instance.store.write(GLOBAL, [put(tool('c'))], by('root', 3))
      await expect(instance.store.write(GLOBAL, [put(tool('d'))], by('root', 3))).rejects.toMatchObject({
        code: 'LAYER_FULL',
      })
    })
  })

  describe('what others do to documents of ours', () => {
    beforeEach(async () => {
      await other.store.write(GLOBAL, [put(tool('a')), put(tool('b'))], by('root'))
      await other.store.write(GLOBAL, [put(tool('b', 'Newer.'))], by('root'))
      await instance.names()
    })

    test('a text that was changed by hand is not served under its old digest', async () => {
      const text = JSON.stringify(tool('a', 'Changed by hand.'))
      await items.doc('a').update({ text })
      await namesAfterWholeRead(instance, ['b', 'inFile'])
      expect(await skipped()).toEqual([expect.stringContaining('document a')])
      await instance.store.write(GLOBAL, [put(tool('a'))], by('root'))
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'b', 'inFile'])
    })

    test('a removed item is seen after five minutes, and the layer still takes writes', async () => {
      await items.doc('a').delete()
      await namesAfterWholeRead(instance, ['b', 'inFile'])
      await other.store.write(GLOBAL, [put(tool('c'))], by('root'))
      expect(await instance.namesAtNextCheck()).toEqual(['b', 'c', 'inFile'])
    })

    test('an item that was copied to another id is not served twice', async () => {
      await items.doc('copy').set((await items.doc('a').get()).data() ?? {})
      await namesAfterWholeRead(instance, ['a', 'b', 'inFile'])
      expect(await skipped()).toEqual([expect.stringContaining('document copy')])
    })

    test('a removed layer document loses no definition, and no revision is given twice', async () => {
      const before = await instance.store.layer(GLOBAL).read()
      await layer.delete()
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'b', 'inFile'])
      const [outcome] = await other.store.write(GLOBAL, [put(tool('c'))], by('root', 3))
      const [number, epoch] = outcome?.revision.split('-') ?? []
      expect(number).toBe('3')
      expect(before.revision).not.toContain(epoch)
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'b', 'c', 'inFile'])
      await expect(other.store.write(GLOBAL, [put(tool('d'))], by('root', 3))).rejects.toMatchObject({
        code: 'LAYER_FULL',
      })
      expect(await instance.store.versions(GLOBAL, 'b')).toHaveLength(2)
    })

    test('fields of others in the layer document stay', async () => {
      await layer.update({ note: 'theirs' })
      await other.store.write(GLOBAL, [put(tool('c'))], by('root'))
      expect((await layer.get()).get('note')).toBe('theirs')
    })

    test.each([
      ['text', { revision: 'seven' }],
      ['a fraction', { revision: 1.5 }],
      ['negative', { size: -1 }],
      ['no epoch', { epoch: 'none-at-all' }],
    ])('a layer document with a count that is %s is made anew', async (_title, damage) => {
      await layer.update(damage)
      await other.store.write(GLOBAL, [put(tool('c'))], by('root'))
      expect((await layer.get()).data()).toMatchObject({ revision: 3, size: 3 })
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'b', 'c', 'inFile'])
    })

    test('what they call a revision does not count as one of ours', async () => {
      await items.doc('theirs').set(foreign('theirs', { revision: 1e300 }))
      await items.doc('wild').set(foreign('wild', { revision: 'newest' }))
      await layer.delete()
      await other.store.write(GLOBAL, [put(tool('c'))], by('root'))
      expect((await layer.get()).get('revision')).toBe(3)
      expect(await instance.namesAtNextCheck()).toEqual(['a', 'b', 'c', 'theirs', 'wild', 'inFile'])
    })
  })
})
