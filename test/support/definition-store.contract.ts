import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { DefinitionStore } from '../../functions/src/catalog/definitions/definition-store.ts'
import type { StoredLayer } from '../../functions/src/catalog/views/layer-source.ts'
import { by, put, remove, tool } from './definition-changes.ts'

export type StoreHarness = {
  /** Opens a store. All stores of a harness have the same data. */
  readonly open: () => Promise<DefinitionStore>
  readonly dispose: () => Promise<void>
}

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const GLOBAL: StoredLayer = { kind: 'global' }

/** The tests that every DefinitionStore must pass. The test of each implementation calls this function. */
export function describeDefinitionStore(title: string, start: () => Promise<StoreHarness>): void {
  describe(title, () => {
    let harness: StoreHarness
    let store: DefinitionStore
    let other: DefinitionStore

    beforeEach(async () => {
      harness = await start()
      store = await harness.open()
      other = await harness.open()
    })
    afterEach(async () => {
      await store.close()
      await other.close()
      await harness.dispose()
    })

    const names = async (layer: StoredLayer, from = store): Promise<string[]> =>
      (await from.layer(layer).read()).definitions.map(({ name }) => name).toSorted()
    const revision = async (layer: StoredLayer): Promise<string> => (await store.layer(layer).read()).revision

    describe('reading', () => {
      test('a layer that was never written is whole and empty', async () => {
        const read = await store.layer(ANN).read()
        expect(read).toMatchObject({ whole: true, definitions: [], deleted: [], skipped: [] })
        expect((await store.layer(ANN).read(read.revision)).revision).toBe(read.revision)
      })

      test('a definition comes back exactly as it was written, with who wrote it and when', async () => {
        const definition = tool('a', 'Says "ü", \u2028 and \ud83d\ude00.')
        const [outcome] = await store.write(ANN, [put(definition)], by('ann'))
        const { definitions, revision: now } = await other.layer(ANN).read()
        expect(definitions).toEqual([
          {
            name: 'a',
            text: JSON.stringify(definition),
            digest: put(definition).digest,
            revision: now,
            updatedAt: '2026-01-02T03:04:05.678Z',
            updatedBy: 'ann',
          },
        ])
        expect(outcome).toEqual({
          name: 'a',
          outcome: 'created',
          digest: put(definition).digest,
          revision: now,
        })
      })

      test('the tokens of a definition come back with it, and go with the next content', async () => {
        await store.write(ANN, [put(tool('a'), { tokens: 'v1 1 2 3' }), put(tool('b'))], by('ann'))
        const read = async () => (await other.layer(ANN).read()).definitions.map(({ tokens }) => tokens)
        expect(await read()).toEqual(['v1 1 2 3', undefined])
        await store.write(ANN, [put(tool('a', 'Other.'))], by('ann'))
        expect((await read()).every((tokens) => tokens === undefined)).toBe(true)
      })

      test('a reader that has the newest revision gets nothing', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const now = await revision(ANN)
        expect(await other.layer(ANN).read(now)).toMatchObject({
          revision: now,
          whole: false,
          definitions: [],
          deleted: [],
        })
      })

      test('a reader that has an older revision gets only what changed since, deletions included', async () => {
        await store.write(ANN, [put(tool('a')), put(tool('b')), put(tool('c'))], by('ann'))
        const then = await revision(ANN)
        await store.write(ANN, [put(tool('b', 'Other.'))], by('ann'))
        await store.write(ANN, [remove('c')], by('ann'))
        const read = await other.layer(ANN).read(then)
        expect(read.whole).toBe(false)
        expect(read.definitions.map(({ name }) => name)).toEqual(['b'])
        expect(read.deleted).toEqual(['c'])
      })

      test('the revision of a deletion comes with the changes, and with the whole layer as long as the deletion is kept', async () => {
        await store.write(ANN, [put(tool('a')), put(tool('b'))], by('ann'))
        const then = await revision(ANN)
        await store.write(ANN, [remove('a')], by('ann'))
        const deletions = [{ name: 'a', revision: await revision(ANN) }]
        await store.write(ANN, [put(tool('c'))], by('ann'))
        for (const since of [then, undefined])
          expect((await other.layer(ANN).read(since)).deletions).toEqual(deletions)
        expect((await other.layer(ANN).read(await revision(ANN))).deletions ?? []).toEqual([])
        await store.write(ANN, [put(tool('a'))], by('ann'))
        expect((await other.layer(ANN).read()).deletions).toEqual([])
      })

      test('a name that was deleted and written again is changed, not deleted', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const then = await revision(ANN)
        await store.write(ANN, [remove('a')], by('ann'))
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const read = await other.layer(ANN).read(then)
        expect(read.definitions.map(({ name }) => name)).toEqual(['a'])
        expect(read.deleted).toEqual([])
      })

      test('a revision that the store does not know brings the whole layer', async () => {
        await store.write(ANN, [put(tool('a')), put(tool('b'))], by('ann'))
        await store.write(ANN, [remove('b')], by('ann'))
        for (const foreign of ['', '0', '999-ffffffffffff', 'm999', 'nonsense']) {
          const read = await store.layer(ANN).read(foreign)
          expect(read).toMatchObject({ whole: true, deleted: [] })
          expect(read.definitions.map(({ name }) => name)).toEqual(['a'])
        }
      })
    })

    describe('writing', () => {
      test('raises the revision once, however many definitions it brings', async () => {
        await store.write(ANN, [put(tool('a')), put(tool('b'))], by('ann'))
        const { definitions } = await store.layer(ANN).read()
        expect(new Set(definitions.map((stored) => stored.revision))).toEqual(new Set([await revision(ANN)]))
      })

      test('the same content again changes nothing, not even the revision', async () => {
        const [first] = await store.write(ANN, [put(tool('a'))], by('ann'))
        const then = await revision(ANN)
        const [second] = await store.write(ANN, [put(tool('a'))], by('bob'))
        expect(second).toEqual({ ...first, outcome: 'unchanged' })
        expect(await revision(ANN)).toBe(then)
        expect(await store.versions(ANN, 'a')).toHaveLength(1)
      })

      test('a skipped conflict changes nothing and tells what is there', async () => {
        const [first] = await store.write(ANN, [put(tool('a'))], by('ann'))
        const [second] = await store.write(ANN, [put(tool('a', 'Other.'), { onConflict: 'skip' })], by('ann'))
        expect(second).toEqual({ ...first, outcome: 'skipped' })
      })

      test('layers of users and the global layer are apart', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        await store.write({ kind: 'user', uid: 'global' }, [put(tool('b'))], by('global'))
        await store.write(GLOBAL, [put(tool('c'))], by('ann'))
        expect([await names(ANN), await names({ kind: 'user', uid: 'global' }), await names(GLOBAL)]).toEqual(
          [['a'], ['b'], ['c']],
        )
        expect(await names({ kind: 'user', uid: 'bob' })).toEqual([])
      })

      test('one refused change refuses all, and each refusal names its item', async () => {
        await store.write(ANN, [put(tool('taken')), put(tool('also'))], by('ann'))
        const then = await revision(ANN)
        const changes = ['new', 'taken', 'newer', 'also'].map((name) =>
          put(tool(name, 'Other.'), { onConflict: 'error' }),
        )
        await expect(store.write(ANN, changes, by('ann'))).rejects.toMatchObject({
          code: 'NAME_TAKEN',
          details: [
            { reason: 'NAME_TAKEN', index: 1 },
            { reason: 'NAME_TAKEN', index: 3 },
          ],
        })
        expect(await names(ANN)).toEqual(['also', 'taken'])
        expect(await revision(ANN)).toBe(then)
      })

      test('a layer takes no more than it may hold, and a deletion makes room', async () => {
        await store.write(ANN, [put(tool('a')), put(tool('b'))], by('ann', 3))
        await expect(store.write(ANN, [put(tool('c')), put(tool('d'))], by('ann', 3))).rejects.toMatchObject({
          code: 'LAYER_FULL',
        })
        expect(await names(ANN)).toEqual(['a', 'b'])
        await store.write(ANN, [put(tool('a', 'Other.')), put(tool('c'))], by('ann', 3))
        await store.write(ANN, [remove('b')], by('ann', 3))
        await store.write(ANN, [put(tool('d'))], by('ann', 3))
        expect(await names(ANN)).toEqual(['a', 'c', 'd'])
      })
    })

    describe('deleting', () => {
      test('an absent definition is not found', async () => {
        await expect(store.write(ANN, [remove('a')], by('ann'))).rejects.toMatchObject({
          code: 'TOOL_NOT_FOUND',
        })
        await store.write(ANN, [put(tool('a'))], by('ann'))
        await store.write(ANN, [remove('a')], by('ann'))
        await expect(store.write(ANN, [remove('a')], by('ann'))).rejects.toMatchObject({
          code: 'TOOL_NOT_FOUND',
        })
      })

      test('what was deleted can be created again', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        await store.write(ANN, [remove('a')], by('ann'))
        const [outcome] = await store.write(ANN, [put(tool('a'), { onConflict: 'error' })], by('ann'))
        expect(outcome?.outcome).toBe('created')
      })
    })

    describe('preconditions', () => {
      const current = put(tool('a')).digest
      const stale = put(tool('a', 'Other.')).digest

      test.each([
        ['If-Match of the present digest', { ifMatch: new Set([stale, current]) }, true],
        ['If-Match of another digest', { ifMatch: new Set([stale]) }, false],
        ['If-Match of anything', { ifMatch: '*' as const }, true],
        ['If-None-Match of the present digest', { ifNoneMatch: new Set([current]) }, false],
        ['If-None-Match of another digest', { ifNoneMatch: new Set([stale]) }, true],
        ['If-None-Match of anything', { ifNoneMatch: '*' as const }, false],
      ])('%s on an existing definition', async (_title, precondition, holds) => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const writing = store.write(ANN, [put(tool('a', 'New.'), { precondition })], by('ann'))
        if (holds) expect((await writing)[0]?.outcome).toBe('updated')
        else await expect(writing).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
      })

      test.each([
        ['If-Match of a digest', { ifMatch: new Set([current]) }, false],
        ['If-Match of anything', { ifMatch: '*' as const }, false],
        ['If-None-Match of anything', { ifNoneMatch: '*' as const }, true],
      ])('%s on an absent definition', async (_title, precondition, holds) => {
        const writing = store.write(ANN, [put(tool('a'), { precondition })], by('ann'))
        if (holds) expect((await writing)[0]?.outcome).toBe('created')
        else await expect(writing).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
      })

      test('a deletion keeps to its precondition', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const deleting = store.write(
          ANN,
          [remove('a', { precondition: { ifMatch: new Set([stale]) } })],
          by('ann'),
        )
        await expect(deleting).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
        expect(await names(ANN)).toEqual(['a'])
      })
    })

    describe('versions', () => {
      test('are kept newest first, and a deletion is one', async () => {
        await store.write(ANN, [put(tool('a', 'One.'))], by('ann'))
        await store.write(ANN, [put(tool('a', 'Two.'))], by('bob'))
        await store.write(ANN, [remove('a')], by('ann'))
        const versions = await other.versions(ANN, 'a')
        expect(versions.map(({ text, by: writer }) => [text, writer])).toEqual([
          [undefined, 'ann'],
          [JSON.stringify(tool('a', 'Two.')), 'bob'],
          [JSON.stringify(tool('a', 'One.')), 'ann'],
        ])
        expect(new Set(versions.map((version) => version.revision)).size).toBe(3)
      })

      test('the last fifty are kept', async () => {
        for (let index = 0; index < 53; index += 1)
          await store.write(ANN, [put(tool('a', `Number ${index}.`))], by('ann'))
        const versions = await store.versions(ANN, 'a')
        expect(versions).toHaveLength(50)
        expect(versions.at(-1)?.text).toBe(JSON.stringify(tool('a', 'Number 3.')))
      })

      test('a name that was never written has none', async () => {
        await store.write(GLOBAL, [put(tool('a'))], by('ann'))
        expect(await store.versions(ANN, 'a')).toEqual([])
      })
    })

    describe('several writers', () => {
      test('of two that saw the same state only one writes', async () => {
        await store.write(ANN, [put(tool('a'))], by('ann'))
        const precondition = { ifMatch: new Set([put(tool('a')).digest]) }
        const writes = await Promise.allSettled([
          store.write(ANN, [put(tool('a', 'Left.'), { precondition })], by('ann')),
          other.write(ANN, [put(tool('a', 'Right.'), { precondition })], by('bob')),
        ])
        expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
        const refused = writes.find((write) => write.status === 'rejected')
        expect(refused?.reason).toMatchObject({ code: 'PRECONDITION_FAILED' })
      })

      test('fifty at once each get a revision of their own, and nothing is lost', async () => {
        const writes = Array.from({ length: 50 }, (_, index) =>
          (index % 2 === 0 ? store : other).write(ANN, [put(tool(`t${index}`))], by('ann')),
        )
        const outcomes = (await Promise.all(writes)).flat()
        expect(new Set(outcomes.map((outcome) => outcome.revision)).size).toBe(50)
        expect(await names(ANN, other)).toHaveLength(50)
      })

      test('a reader that follows by changes ends with what a whole read shows', async () => {
        const seen = new Map<string, string>()
        let since: string | undefined
        for (let round = 0; round < 30; round += 1) {
          const bulk = Array.from({ length: 5 }, (_, index) =>
            put(tool(`t${(round * 3 + index) % 20}`, `Round ${round}.`)),
          )
          const writing = other.write(ANN, bulk, by('ann'))
          const read = await store.layer(ANN).read(since)
          if (read.whole) seen.clear()
          for (const stored of read.definitions) seen.set(stored.name, stored.text)
          for (const name of read.deleted) seen.delete(name)
          since = read.revision
          await writing
          if (round % 7 === 6) await other.write(ANN, [remove(`t${(round * 3) % 20}`)], by('ann'))
        }
        const rest = await store.layer(ANN).read(since)
        for (const stored of rest.definitions) seen.set(stored.name, stored.text)
        for (const name of rest.deleted) seen.delete(name)
        const whole = await store.layer(ANN).read()
        expect(new Map([...seen].toSorted())).toEqual(
          new Map(whole.definitions.map(({ name, text }): [string, string] => [name, text]).toSorted()),
        )
      })
    })
  })
}
