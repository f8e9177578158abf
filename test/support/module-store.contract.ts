import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { grantsDigest, type Grant } from '@toolrack/contract'
import type { StoredLayer } from '../../functions/src/catalog/views/layer-source.ts'
import type { DefinitionStore } from '../../functions/src/catalog/definitions/definition-store.ts'
import { moduleTag } from '../../functions/src/catalog/definitions/module-tag.ts'
import { MODULE_FILES_BYTES_MAX } from '../../functions/src/catalog/definitions/module-files.ts'
import { by, put, remove, tool } from './definition-changes.ts'
import type { StoreHarness } from './definition-store.contract.ts'
import { lockOf, moduleTool, putModule, removeModule, sha256Of } from './module-changes.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const GLOBAL: StoredLayer = { kind: 'global' }

/** The tests of modules that every DefinitionStore must pass. The test of each implementation calls this function. */
export function describeModuleStore(title: string, start: () => Promise<StoreHarness>): void {
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

    const names = async (layer: StoredLayer = ANN): Promise<string[]> =>
      (await other.layer(layer).read()).definitions.map(({ name }) => name).toSorted()
    const revision = async (): Promise<string> => (await store.layer(ANN).read()).revision
    /** The first field of each stored definition. */
    const firstKeys = async () => {
      const { definitions } = await other.layer(ANN).read()
      return definitions.map(({ text }) => Object.entries(JSON.parse(text) as object)[0])
    }

    describe('writing', () => {
      test('a module and its tools come back as they were written, in one revision', async () => {
        const change = putModule('m', ['a', 'b'], '# "ü", \u2028, \ud83d\ude00, \ufeff and \r\n', {
          report: { specs: [{ name: 'm:a', notes: ['ä\u0000'] }] },
        })
        const outcome = await store.writeModule(ANN, change, by('ann'))
        const now = await revision()
        expect(outcome).toEqual({
          name: 'm',
          outcome: 'created',
          sha256: change.sha256,
          tag: change.sha256,
          revision: now,
          tools: change.tools.map(({ name, digest }) => ({
            name,
            outcome: 'created',
            digest,
            revision: now,
          })),
        })
        const { definitions } = await other.layer(ANN).read()
        expect(definitions.map((stored) => [stored.name, stored.text, stored.revision])).toEqual(
          change.tools.map(({ name, text }) => [name, text, now]),
        )
        const summary = {
          name: 'm',
          sha256: change.sha256,
          tools: ['m:a', 'm:b'],
          revision: now,
          updatedAt: '2026-01-02T03:04:05.678Z',
          updatedBy: 'ann',
        }
        const asked = {
          grants: [],
          grantsDigest: grantsDigest([]),
          consent: null,
          created: expect.any(String),
        }
        expect(await other.module(ANN, 'm')).toEqual({ ...summary, ...asked, report: change.report })
        expect(await other.modules(ANN, { limit: 10 })).toEqual([{ ...summary, ...asked }])
        expect(await other.source(ANN, change.sha256)).toEqual({ source: change.source })
      })

      test('several files come back as they were written, whatever their names and texts', async () => {
        const texts = {
          '__init__.py': '# "ü", \u2028, \ud83d\ude00, \ufeff, \u0001 and \r\n',
          'a.b/c.d.py': '',
          constructor: 'a name that every object has',
          'data/table.json': '{"a": [1]}',
        }
        const change = putModule('m', ['a'], texts)
        expect((await store.writeModule(ANN, change, by('ann'))).sha256).toBe(change.sha256)
        expect(await other.source(ANN, change.sha256)).toEqual({ files: change.files })
        const again = await store.writeModule(ANN, putModule('m', ['a'], texts), by('ann'))
        expect(again.outcome).toBe('unchanged')
        const renamed = putModule('m', ['a'], { ...texts, 'a.b/c.d.py': ' ' })
        expect((await store.writeModule(ANN, renamed, by('ann'))).replaced).toBe(change.sha256)
      })

      test('a module takes as many bytes as it may have, even if each of them needs six in JSON', async () => {
        const half = '\u0001'.repeat(MODULE_FILES_BYTES_MAX / 2)
        const change = putModule('m', ['a'], { '__init__.py': half, 'more.py': half })
        await store.writeModule(ANN, change, by('ann'))
        expect(await other.source(ANN, change.sha256)).toEqual({ files: change.files })
      })

      test('the same content again changes nothing, not even the revision', async () => {
        const first = await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        const then = await revision()
        const second = await store.writeModule(ANN, putModule('m', ['a']), by('bob'))
        expect(second).toMatchObject({ outcome: 'unchanged', revision: first.revision })
        expect(second.tools.map(({ outcome }) => outcome)).toEqual(['unchanged'])
        expect(await revision()).toBe(then)
        expect(await store.moduleVersions(ANN, 'm')).toHaveLength(1)
      })

      test('another source adds, changes and takes away, in one revision that a reader follows by changes', async () => {
        await store.writeModule(ANN, putModule('m', ['a', 'b']), by('ann'))
        const then = await revision()
        const { tools, outcome } = await store.writeModule(ANN, putModule('m', ['b', 'c']), by('ann'))
        expect(outcome).toBe('updated')
        expect(tools.map((each) => [each.name, each.outcome])).toEqual([
          ['m:b', 'updated'],
          ['m:c', 'created'],
          ['m:a', 'deleted'],
        ])
        const read = await other.layer(ANN).read(then)
        expect(read.definitions.map(({ name }) => name).toSorted()).toEqual(['m:b', 'm:c'])
        expect(read.deleted).toEqual(['m:a'])
        expect(new Set(tools.map((each) => each.revision))).toEqual(new Set([read.revision]))
      })

      test('another source is another content, also where it makes the same tools', async () => {
        await store.writeModule(ANN, putModule('m', ['a'], 'one'), by('ann'))
        const then = await revision()
        const { tools: same } = putModule('m', ['a'], 'one')
        const other = { ...putModule('m', ['a'], 'two'), tools: same }
        const outcome = await store.writeModule(ANN, other, by('ann'))
        expect([outcome.outcome, outcome.tools[0]?.outcome]).toEqual(['updated', 'unchanged'])
        expect(await revision()).toBe(outcome.revision)
        expect(outcome.revision).not.toBe(then)
        expect([outcome.sha256, outcome.replaced]).toEqual([sha256Of('two'), sha256Of('one')])
      })

      test('a tool that somebody else has removed from the store is put back', async () => {
        await store.writeModule(ANN, putModule('m', ['a', 'b']), by('ann'))
        const source = '# m: a,b'
        const fewer = { ...putModule('m', ['a'], source), tools: [put(moduleTool('m', 'a', source))] }
        await store.writeModule(ANN, fewer, by('ann'))
        const again = await store.writeModule(ANN, putModule('m', ['a', 'b']), by('ann'))
        expect(again.outcome).toBe('updated')
        expect(await names()).toEqual(['m:a', 'm:b'])
      })

      test('layers of users and the global layer are apart', async () => {
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        await store.writeModule(GLOBAL, putModule('m', ['b']), by('ann'))
        expect([await names(ANN), await names(GLOBAL)]).toEqual([['m:a'], ['m:b']])
        const { sha256 } = putModule('m', ['a'])
        expect(await other.source(GLOBAL, sha256)).toBeUndefined()
        expect(await other.source({ kind: 'user', uid: 'bob' }, sha256)).toBeUndefined()
        expect(await other.module({ kind: 'user', uid: 'bob' }, 'm')).toBeUndefined()
        expect(await other.modules({ kind: 'user', uid: 'bob' }, { limit: 10 })).toEqual([])
      })

      test('a layer takes no more than it may hold; what a module takes away makes room', async () => {
        await store.writeModule(ANN, putModule('m', ['a', 'b']), by('ann', 3))
        await expect(store.writeModule(ANN, putModule('n', ['a', 'b']), by('ann', 3))).rejects.toMatchObject({
          code: 'LAYER_FULL',
        })
        expect(await other.module(ANN, 'n')).toBeUndefined()
        await store.writeModule(ANN, putModule('m', ['c', 'd', 'e']), by('ann', 3))
        expect(await names()).toEqual(['m:c', 'm:d', 'm:e'])
      })
    })

    describe('names', () => {
      test('a name that the layer has already is refused with its owner, and nothing is written', async () => {
        await store.write(ANN, [put(tool('m:a'))], by('ann'))
        await store.writeModule(ANN, putModule('n', ['x']), by('ann'))
        const then = await revision()
        const taken = putModule('m', ['a', 'b'])
        const [alien] = putModule('m', ['z']).tools
        const [ofN] = putModule('n', ['x'], 'other').tools
        const change = { ...taken, tools: [...taken.tools, ...(alien ? [alien] : []), ...(ofN ? [ofN] : [])] }
        await expect(store.writeModule(ANN, change, by('ann'))).rejects.toMatchObject({
          code: 'NAME_TAKEN',
          details: [
            { reason: 'NAME_TAKEN', name: 'm:a' },
            { reason: 'NAME_TAKEN', name: 'n:x', module: 'n' },
          ],
        })
        expect(await revision()).toBe(then)
        expect(await names()).toEqual(['m:a', 'n:x'])
        expect(await other.source(ANN, taken.sha256)).toBeUndefined()
        expect(await other.moduleVersions(ANN, 'm')).toEqual([])
      })

      test.each([
        ['put', put(tool('m:a', 'Mine.'))],
        ['put of the same name by hand', put({ ...tool('m:a'), runner: { kind: 'python', module: 'm' } })],
        ['delete', remove('m:a')],
      ])('a %s of a definition that a module manages is refused with the module', async (_what, change) => {
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        const then = await revision()
        await expect(store.write(ANN, [put(tool('free')), change], by('ann'))).rejects.toMatchObject({
          code: 'MANAGED_BY_MODULE',
          details: [{ reason: 'MANAGED_BY_MODULE', module: 'm', index: 1 }],
        })
        expect(await revision()).toBe(then)
      })

      test('a definition whose runner is python is not written without its module', async () => {
        const forged = put(moduleTool('m', 'a', 'x'))
        await expect(store.write(ANN, [forged], by('ann'))).rejects.toMatchObject({
          code: 'MANAGED_BY_MODULE',
        })
        expect(await names()).toEqual([])
      })

      test('a write that skips what exists leaves a managed definition alone', async () => {
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        const changes = [put(tool('m:a'), { onConflict: 'skip' }), put(tool('b'))]
        const outcomes = await store.write(ANN, changes, by('ann'))
        expect(outcomes.map(({ outcome }) => outcome)).toEqual(['skipped', 'created'])
      })

      test('a name is free again when its module is gone', async () => {
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        await store.writeModule(ANN, removeModule('m'), by('ann'))
        const [outcome] = await store.write(ANN, [put(tool('m:a'))], by('ann'))
        expect(outcome?.outcome).toBe('created')
      })
    })

    describe('deleting', () => {
      test('takes every tool of the module and nothing else, in one revision', async () => {
        await store.write(ANN, [put(tool('own'))], by('ann'))
        await store.writeModule(ANN, putModule('m', ['a', 'b']), by('ann'))
        await store.writeModule(ANN, putModule('n', ['a']), by('ann'))
        const then = await revision()
        const gone = await store.writeModule(ANN, removeModule('m'), by('ann'))
        expect(gone).toMatchObject({ outcome: 'deleted', sha256: putModule('m', ['a', 'b']).sha256 })
        const read = await other.layer(ANN).read(then)
        expect([read.definitions, read.deleted.toSorted()]).toEqual([[], ['m:a', 'm:b']])
        expect(read.revision).toBe(gone.revision)
        expect(await names()).toEqual(['n:a', 'own'])
        expect(await other.module(ANN, 'm')).toBeUndefined()
        expect((await other.modules(ANN, { limit: 10 })).map(({ name }) => name)).toEqual(['n'])
      })

      test('of an absent module is not found', async () => {
        const deleting = (): Promise<unknown> => store.writeModule(ANN, removeModule('m'), by('ann'))
        await expect(deleting()).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        await deleting()
        await expect(deleting()).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
      })

      test('what was deleted can be created again', async () => {
        await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        await store.writeModule(ANN, removeModule('m'), by('ann'))
        const again = await store.writeModule(ANN, putModule('m', ['a']), by('ann'))
        expect(again.outcome).toBe('created')
        expect(await names()).toEqual(['m:a'])
      })
    })

    describe('preconditions', () => {
      const present = sha256Of('present')
      const stale = sha256Of('stale')

      test.each([
        ['If-Match of the present sha256', { ifMatch: new Set([stale, present]) }, true],
        ['If-Match of another', { ifMatch: new Set([stale]) }, false],
        ['If-Match of anything', { ifMatch: '*' as const }, true],
        ['If-None-Match of the present sha256', { ifNoneMatch: new Set([present]) }, false],
        ['If-None-Match of anything', { ifNoneMatch: '*' as const }, false],
      ])('%s on an existing module, for a write and a deletion', async (_title, precondition, holds) => {
        for (const change of [
          putModule('m', ['a'], 'new', { precondition }),
          removeModule('m', { precondition }),
        ]) {
          await store.writeModule(ANN, putModule('m', ['a'], 'present'), by('ann'))
          const writing = store.writeModule(ANN, change, by('ann'))
          if (holds) expect((await writing).outcome).toMatch(/updated|deleted/)
          else await expect(writing).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
        }
      })

      test.each([
        ['If-Match of a sha256', { ifMatch: new Set([present]) }, false],
        ['If-Match of anything', { ifMatch: '*' as const }, false],
        ['If-None-Match of anything', { ifNoneMatch: '*' as const }, true],
      ])('%s on an absent module', async (_title, precondition, holds) => {
        const writing = store.writeModule(ANN, putModule('m', ['a'], 'new', { precondition }), by('ann'))
        if (holds) expect((await writing).outcome).toBe('created')
        else await expect(writing).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
      })

      test('a module with packages has a tag of its own, and the sha256 counts too', async () => {
        const [one, two] = [lockOf('1.0'), lockOf('2.0')]
        const tagOf = async (): Promise<string> => {
          const module = await store.module(ANN, 'm')
          return module ? moduleTag(module) : ''
        }
        const write = (lock: typeof one, tags: readonly string[], key: 'ifMatch' | 'ifNoneMatch') => {
          const precondition = { [key]: new Set(tags) }
          return store.writeModule(ANN, putModule('m', ['a'], 'present', { lock, precondition }), by('ann'))
        }
        const refused = { code: 'PRECONDITION_FAILED' }
        await store.writeModule(ANN, putModule('m', ['a'], 'present', { lock: one }), by('ann'))
        const first = await tagOf()
        const again = await store.writeModule(ANN, putModule('m', ['a'], 'present', { lock: one }), by('ann'))
        expect([again.outcome, again.tag]).toEqual(['unchanged', first])
        await expect(write(two, [first], 'ifNoneMatch')).rejects.toMatchObject(refused)
        await expect(write(two, [present], 'ifNoneMatch')).rejects.toMatchObject(refused)
        const { tag } = await write(two, [first], 'ifMatch')
        expect(tag).toBe(await tagOf())
        expect(await tagOf()).not.toBe(first)
        await expect(write(one, [first], 'ifMatch')).rejects.toMatchObject(refused)
        expect((await write(one, [present], 'ifMatch')).outcome).toBe('updated')
        expect(await tagOf()).toBe(first)
      })

      test('of two that saw the same state only one writes, with all of its tools', async () => {
        await store.writeModule(ANN, putModule('m', ['a'], 'present'), by('ann'))
        const precondition = { ifMatch: new Set([present]) }
        const writes = await Promise.allSettled([
          store.writeModule(ANN, putModule('m', ['left', 'a'], 'left', { precondition }), by('ann')),
          other.writeModule(ANN, putModule('m', ['right', 'a'], 'right', { precondition }), by('bob')),
        ])
        expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
        const refused = writes.find((write) => write.status === 'rejected')
        expect(refused?.reason).toMatchObject({ code: 'PRECONDITION_FAILED' })
        expect((await store.module(ANN, 'm'))?.tools.toSorted()).toEqual(await names())
      })

      test('of a module and a definition that want the same name at once only one gets it', async () => {
        // Each round in a layer of its own, because a store over a network waits long for the loser.
        const rounds = Array.from({ length: 5 }, async (_, round) => {
          const layer: StoredLayer = { kind: 'user', uid: `u${round}` }
          const writes = await Promise.allSettled([
            store.writeModule(layer, putModule('m', ['a']), by('ann')),
            other.write(layer, [put(tool('m:a'))], by('bob')),
          ])
          expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
          const codes = writes.flatMap((write): unknown[] =>
            write.status === 'rejected' ? [(write.reason as { code: unknown }).code] : [],
          )
          expect(codes).toEqual([expect.stringMatching(/^(?:NAME_TAKEN|MANAGED_BY_MODULE)$/)])
        })
        await Promise.all(rounds)
      })
    })

    describe('versions', () => {
      test('are kept newest first, and a deletion is one', async () => {
        await store.writeModule(ANN, putModule('m', ['a'], 'one'), by('ann'))
        await store.writeModule(ANN, putModule('m', ['a', 'b'], 'two'), by('bob'))
        await store.writeModule(ANN, removeModule('m'), by('ann'))
        const versions = await other.moduleVersions(ANN, 'm')
        expect(versions.map(({ sha256, tools, by: writer }) => [sha256, tools, writer])).toEqual([
          [undefined, [], 'ann'],
          [sha256Of('two'), ['m:a', 'm:b'], 'bob'],
          [sha256Of('one'), ['m:a'], 'ann'],
        ])
        expect(new Set(versions.map((version) => version.revision)).size).toBe(3)
        expect(await other.source(ANN, sha256Of('one'))).toEqual({ source: 'one' })
        expect(await other.moduleVersions(ANN, 'never')).toEqual([])
      })

      test('a module may become several files and one file again; each version keeps its own', async () => {
        const contents = ['one', { '__init__.py': 'two' }, 'three']
        for (const content of contents)
          await store.writeModule(ANN, putModule('m', ['a'], content), by('ann'))
        const versions = await other.moduleVersions(ANN, 'm')
        expect(versions.map(({ sha256 }) => sha256)).toEqual(contents.map(sha256Of).toReversed())
        expect(await other.source(ANN, sha256Of('one'))).toEqual({ source: 'one' })
        expect(await other.source(ANN, sha256Of({ '__init__.py': 'two' }))).toEqual({
          files: [{ path: '__init__.py', content: 'two' }],
        })
      })

      test('the last fifty are kept, and a source goes with the last version that has it', async () => {
        await store.writeModule(ANN, putModule('m', ['a'], 'shared'), by('ann'))
        await store.writeModule(ANN, putModule('n', ['a'], 'shared'), by('ann'))
        await store.writeModule(ANN, putModule('m', ['a'], 'alone'), by('ann'))
        await store.writeModule(ANN, putModule('m', ['a'], 'twice'), by('ann'))
        for (let index = 0; index < 49; index += 1)
          await store.writeModule(ANN, putModule('m', ['a'], `number ${index}`), by('ann'))
        expect(await other.source(ANN, sha256Of('alone'))).toBeUndefined()
        expect(await other.source(ANN, sha256Of('twice'))).toEqual({ source: 'twice' })
        await store.writeModule(ANN, putModule('m', ['a'], 'twice'), by('ann'))
        const versions = await store.moduleVersions(ANN, 'm')
        expect(versions).toHaveLength(50)
        expect(versions.at(-1)?.sha256).toBe(sha256Of('number 0'))
        expect(await other.source(ANN, sha256Of('twice'))).toEqual({ source: 'twice' })
        expect(await other.source(ANN, sha256Of('shared'))).toEqual({ source: 'shared' })
        await store.writeModule(ANN, removeModule('n'), by('ann'))
        expect(await other.source(ANN, sha256Of('shared'))).toEqual({ source: 'shared' })
      })
    })

    describe('locks', () => {
      const [one, two] = [lockOf('1.0'), lockOf('2.0')]
      const write = (lock: typeof one | undefined, content = 'text', name = 'm') =>
        store.writeModule(ANN, putModule(name, ['a'], content, { lock }), by('ann'))

      test('the lock of a version is read by its content and its digest', async () => {
        await write(one)
        expect((await other.module(ANN, 'm'))?.environment).toBe(one.digest)
        expect((await other.modules(ANN, { limit: 1 }))[0]?.environment).toBe(one.digest)
        expect((await other.moduleVersions(ANN, 'm'))[0]?.environment).toBe(one.digest)
        expect(await other.lock(ANN, sha256Of('text'), one.digest)).toEqual(one)
        expect(await other.lock(ANN, sha256Of('text'), two.digest)).toBeUndefined()
        expect(await other.lock(ANN, sha256Of('other'), one.digest)).toBeUndefined()
        expect(await other.lock(GLOBAL, sha256Of('text'), one.digest)).toBeUndefined()
      })

      test('two contents with the same packages keep the requirements of each', async () => {
        const strict = lockOf('1.0', ['six>=1'])
        await write(one)
        await write(strict, 'strict', 'n')
        expect(await other.lock(ANN, sha256Of('text'), one.digest)).toEqual(one)
        expect(await other.lock(ANN, sha256Of('strict'), one.digest)).toEqual(strict)
      })

      test('the same content with another lock is a new version; with the same lock it is not', async () => {
        const first = await write(one)
        expect(await write(one)).toMatchObject({ outcome: 'unchanged', revision: first.revision })
        expect((await write(two)).outcome).toBe('updated')
        expect((await write(undefined)).outcome).toBe('updated')
        const versions = await other.moduleVersions(ANN, 'm')
        expect(versions.map(({ environment }) => environment)).toEqual([undefined, two.digest, one.digest])
        expect((await other.module(ANN, 'm'))?.environment).toBeUndefined()
        expect(await other.lock(ANN, sha256Of('text'), one.digest)).toEqual(one)
      })

      test('the same packages for another Python replace the lock, although the digest is the same', async () => {
        const moved = { ...one, python: '3.12' }
        const again = putModule('m', ['a'], 'text', { lock: moved, replacesLock: true })
        await write(one)
        expect((await store.writeModule(ANN, again, by('ann'))).outcome).toBe('updated')
        expect(await other.lock(ANN, sha256Of('text'), one.digest)).toEqual(moved)
        expect((await write(moved)).outcome).toBe('unchanged')
      })

      test('a lock stays after a deletion, and goes with the last version that has it', async () => {
        await write(one)
        await write(one, 'text', 'n')
        await write(two)
        await store.writeModule(ANN, removeModule('m'), by('ann'))
        expect(await other.lock(ANN, sha256Of('text'), two.digest)).toEqual(two)
        for (let index = 0; index < 49; index += 1) await write(undefined, `number ${index}`)
        expect(await other.lock(ANN, sha256Of('text'), two.digest)).toBeUndefined()
        expect(await other.lock(ANN, sha256Of('text'), one.digest)).toEqual(one)
        expect(await other.source(ANN, sha256Of('text'))).toEqual({ source: 'text' })
      })
    })

    describe('grants', () => {
      const grants: readonly Grant[] = [{ kind: 'network', value: 'example.com' }]
      const digest = grantsDigest(grants)
      const consent = { digest, by: 'ann', at: '2026-01-02T03:04:05.678Z' }

      test('the grants of a module come back with it, with the consent', async () => {
        const asked = { grants, grantsDigest: digest, consent }
        await store.writeModule(ANN, putModule('m', ['a'], 'text', asked), by('ann'))
        expect(await other.module(ANN, 'm')).toMatchObject(asked)
        expect(await other.modules(ANN, { limit: 1 })).toMatchObject([asked])
      })

      test('tools that wait for consent say so at their top, and not in their digest', async () => {
        const change = putModule('m', ['a', 'b'], 'text', { grants, grantsDigest: digest })
        await store.writeModule(ANN, { ...change, pending: true }, by('ann'))
        const { definitions, revision: then } = await other.layer(ANN).read()
        expect(await firstKeys()).toEqual([
          ['pendingGrants', digest],
          ['pendingGrants', digest],
        ])
        expect(definitions.map((stored) => stored.digest)).toEqual(change.tools.map((each) => each.digest))
        const accepted = await store.writeModule(ANN, { ...change, consent }, by('ann'))
        expect(accepted.outcome).toBe('updated')
        expect(await firstKeys()).toEqual([
          ['type', 'function'],
          ['type', 'function'],
        ])
        expect((await other.layer(ANN).read(then)).definitions).toHaveLength(2)
        const revoked = await store.writeModule(ANN, { ...change, pending: true }, by('ann'))
        expect(revoked.outcome).toBe('updated')
        expect((await other.module(ANN, 'm'))?.consent).toBeNull()
      })

      test('another consent alone is a change of the module', async () => {
        const change = putModule('m', ['a'], 'text', { grants, grantsDigest: digest })
        await store.writeModule(ANN, change, by('ann'))
        const { outcome, tools } = await store.writeModule(ANN, { ...change, consent }, by('ann'))
        expect([outcome, tools[0]?.outcome]).toEqual(['updated', 'unchanged'])
        expect((await store.writeModule(ANN, { ...change, consent }, by('ann'))).outcome).toBe('unchanged')
        expect((await other.module(ANN, 'm'))?.consent).toEqual(consent)
      })
    })

    test('a list comes by name, a part at a time, without what was deleted', async () => {
      for (const name of ['b', 'a', 'c', 'B', '_', 'd'])
        await store.writeModule(ANN, putModule(name, ['x']), by('ann'))
      await store.writeModule(ANN, removeModule('b'), by('ann'))
      const page = async (after?: string): Promise<string[]> =>
        (await other.modules(ANN, { after, limit: 2 })).map(({ name }) => name)
      expect([await page(), await page('_'), await page('a'), await page('c'), await page('d')]).toEqual([
        ['B', '_'],
        ['a', 'c'],
        ['c', 'd'],
        ['d'],
        [],
      ])
    })
  })
}
