import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { StoredLayer } from '../../functions/src/catalog/views/layer-source.ts'
import type { DefinitionStore } from '../../functions/src/catalog/definitions/definition-store.ts'
import { keptText } from '../../functions/src/catalog/definitions/module-content.ts'
import { moduleBytes, recordBytes } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { LayerLimits } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { WriteContext } from '../../functions/src/catalog/definitions/definition-change.ts'
import { lockText } from '../../functions/src/catalog/definitions/package-lock.ts'
import { grantsText } from '../../functions/src/catalog/definitions/stored-records.ts'
import { by, put, remove, tool } from './definition-changes.ts'
import type { StoreHarness } from './definition-store.contract.ts'
import { lockOf, moduleContent, putModule, removeModule, sha256Of } from './module-changes.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const BOB: StoredLayer = { kind: 'user', uid: 'bob' }

const large = (name: string, mark = '') => put(tool(name, `${mark}${'x'.repeat(4_000)}`))
const within = (limits: Partial<LayerLimits>): WriteContext => by('ann', 1_000, limits)
const source = (mark: string): string => `# ${mark} ${'x'.repeat(10_000)}`
const files = (mark: string) => ({ '__init__.py': `# ${mark}`, 'more.py': source(mark) })

/** The bytes of a definition that `large` makes. A version has the same size. */
const OWN = recordBytes(large('aa', '00').text)
const VERSION = OWN
const PRESENT = OWN + VERSION

/** The tests of a layer's size limits, which every DefinitionStore must pass. The test of each implementation calls them. */
export function describeLayerRoom(title: string, start: () => Promise<StoreHarness>): void {
  describe(title, () => {
    let harness: StoreHarness
    let store: DefinitionStore

    beforeEach(async () => {
      harness = await start()
      store = await harness.open()
    })
    afterEach(async () => {
      await store.close()
      await harness.dispose()
    })

    const names = async (layer = ANN): Promise<string[]> =>
      (await store.layer(layer).read()).definitions.map(({ name }) => name).toSorted()
    /** The versions of a name, by the marks of `large`, the newest first. `-` is a deletion. */
    const marks = async (name: string, layer = ANN): Promise<string> =>
      (await store.versions(layer, name))
        .map(({ text }) => (text === undefined ? '-' : (/"(\d\d)x/.exec(text)?.[1] ?? '?')))
        .join(' ')

    describe('bytes', () => {
      test('the oldest version goes first, of whatever name, and never what is present', async () => {
        const context = within({ bytesMax: 2 * PRESENT + 3 * VERSION })
        for (const mark of ['00', '01']) {
          await store.write(ANN, [large('aa', mark)], context)
          await store.write(ANN, [large('bb', mark)], context)
        }
        expect([await marks('aa'), await marks('bb')]).toEqual(['01 00', '01 00'])
        await store.write(ANN, [large('bb', '02')], context)
        expect([await marks('aa'), await marks('bb')]).toEqual(['01 00', '02 01 00'])
        await store.write(ANN, [large('bb', '03')], context)
        expect([await marks('aa'), await marks('bb')]).toEqual(['01', '03 02 01 00'])
        await store.write(ANN, [large('bb', '04')], context)
        await store.write(ANN, [large('bb', '05')], context)
        expect([await marks('aa'), await marks('bb')]).toEqual(['01', '05 04 03 02'])
        expect(await names()).toEqual(['aa', 'bb'])
      })

      test('a bulk that needs more room than one version gives gets it', async () => {
        const context = within({ bytesMax: 8 * PRESENT })
        const four = ['aa', 'bb', 'cc', 'dd']
        for (const mark of ['00', '01', '02', '03', '04'])
          await store.write(
            ANN,
            four.map((name) => large(name, mark)),
            context,
          )
        const before = await Promise.all(four.map((name) => marks(name)))
        expect(before).toEqual(['04 03 02', '04 03 02', '04 03 02', '04 03 02'])
        await store.write(
          ANN,
          ['ee', 'ff', 'gg', 'hh'].map((name) => large(name, '05')),
          context,
        )
        expect(await names()).toEqual([...four, 'ee', 'ff', 'gg', 'hh'])
        expect(await Promise.all(four.map((name) => marks(name)))).toEqual(['04', '04', '04', '04'])
      })

      test('what does not fit beside what is present is refused with the numbers, and nothing has changed', async () => {
        const context = within({ bytesMax: 2 * PRESENT + 100 })
        await store.write(ANN, [large('aa', '00'), large('bb', '00')], context)
        await store.write(ANN, [large('aa', '01')], context)
        const { revision } = await store.layer(ANN).read()
        const refused = await store.write(ANN, [large('cc', '00')], context).catch((error: unknown) => error)
        expect(refused).toMatchObject({
          code: 'LAYER_FULL',
          message: expect.stringMatching(/hold 0\.0\d\d MB.* adds 0\.00\d MB.* may hold 0\.0\d\d MB; delete/),
        })
        expect((await store.layer(ANN).read()).revision).toBe(revision)
        expect(await store.versions(ANN, 'cc')).toEqual([])
        await store.write(ANN, [remove('bb')], context)
        await store.write(ANN, [large('cc', '00')], context)
        expect(await names()).toEqual(['aa', 'cc'])
      })

      test('a layer that holds too much can still be made smaller, and be written where that adds nothing', async () => {
        await store.write(ANN, [large('aa', '00'), large('bb', '00'), large('cc', '00')], within({}))
        const tight = within({ bytesMax: PRESENT })
        expect((await store.write(ANN, [large('aa', '01')], tight))[0]?.outcome).toBe('updated')
        expect((await store.write(ANN, [put(tool('bb'))], tight))[0]?.outcome).toBe('updated')
        expect((await store.write(ANN, [remove('cc')], tight))[0]?.outcome).toBe('deleted')
        expect(await names()).toEqual(['aa', 'bb'])
      })

      test('one user’s full layer is nothing to another, who keeps every version', async () => {
        await store.write(BOB, [large('mine', '00')], by('bob'))
        const context = within({ bytesMax: 3 * PRESENT })
        for (const name of ['aa', 'bb', 'cc']) await store.write(ANN, [large(name, '00')], context)
        await expect(store.write(ANN, [large('dd', '00')], context)).rejects.toMatchObject({
          code: 'LAYER_FULL',
        })
        await store.write(BOB, [large('mine', '01')], by('bob', 1_000, { bytesMax: 3 * PRESENT }))
        expect([await marks('mine', BOB), await names(BOB)]).toEqual(['01 00', ['mine']])
      })

      test('fifty versions of a name are within the count, and those that went are not counted for ever', async () => {
        const context = within({ bytesMax: PRESENT + 60 * VERSION })
        for (let index = 0; index < 55; index += 1)
          await store.write(ANN, [large('aa', String(index).padStart(2, '0'))], context)
        expect((await store.versions(ANN, 'aa')).length).toBe(50)
        await store.write(ANN, [large('bb', '00')], context)
        expect((await store.versions(ANN, 'aa')).length).toBe(50)
        await expect(
          store.write(ANN, [put(tool('cc', 'x'.repeat(30 * VERSION)))], context),
        ).rejects.toMatchObject({ code: 'LAYER_FULL' })
        await store.write(ANN, [put(tool('cc', 'x'.repeat(15 * VERSION)))], context)
        expect((await store.versions(ANN, 'aa')).length).toBeLessThan(35)
        expect((await store.versions(ANN, 'aa')).length).toBeGreaterThan(20)
      })
    })

    describe('deleted names', () => {
      test('are kept so many, and those that were deleted longest ago go with all of their versions', async () => {
        const context = within({ deletedMax: 2 })
        for (const name of ['aa', 'bb', 'cc']) await store.write(ANN, [large(name, '00')], context)
        for (const name of ['aa', 'cc', 'bb']) await store.write(ANN, [remove(name)], context)
        expect([await marks('aa'), await marks('cc'), await marks('bb')]).toEqual(['', '- 00', '- 00'])
        await store.write(ANN, [large('cc', '01')], context)
        await store.write(ANN, [large('dd', '00')], context)
        await store.write(ANN, [remove('dd')], context)
        expect([await marks('bb'), await marks('cc'), await marks('dd')]).toEqual(['- 00', '01 - 00', '- 00'])
      })

      test('names that come and go without end leave no more than the bound, and the layer its room', async () => {
        const context = within({ deletedMax: 3, bytesMax: 20 * PRESENT + 200 })
        await store.write(ANN, [large('kept', '00')], context)
        for (let index = 0; index < 30; index += 1) {
          await store.write(ANN, [large(`t${index}`, '00')], context)
          await store.write(ANN, [remove(`t${index}`)], context)
        }
        const left = await Promise.all(
          Array.from({ length: 30 }, (_, index) => store.versions(ANN, `t${index}`)),
        )
        expect(left.filter((versions) => versions.length > 0)).toHaveLength(3)
        expect(await names()).toEqual(['kept'])
        const many = Array.from({ length: 19 }, (_, index) => large(`n${index + 10}`, '00'))
        await store.write(ANN, many, context)
        expect(await names()).toHaveLength(20)
      })

      test('give their room before anything that is present is refused', async () => {
        const context = within({ bytesMax: 3 * PRESENT })
        for (const name of ['aa', 'bb', 'cc']) await store.write(ANN, [large(name, '00')], context)
        for (const name of ['aa', 'bb', 'cc']) await store.write(ANN, [remove(name)], context)
        for (const name of ['dd', 'ee', 'ff']) await store.write(ANN, [large(name, '00')], context)
        expect(await names()).toEqual(['dd', 'ee', 'ff'])
        expect([await marks('aa'), await marks('bb'), await marks('cc')]).toEqual(['', '', ''])
      })

      test('a reader who has missed a deletion whose name is gone reads the whole layer', async () => {
        const context = within({ deletedMax: 1 })
        await store.write(ANN, [large('aa', '00'), large('bb', '00'), large('cc', '00')], context)
        const since = (await store.layer(ANN).read()).revision
        await store.write(ANN, [remove('aa')], context)
        const after = (await store.layer(ANN).read()).revision
        await store.write(ANN, [remove('bb')], context)
        const missed = await store.layer(ANN).read(since)
        expect([missed.whole, missed.definitions.map(({ name }) => name)]).toEqual([true, ['cc']])
        expect(missed).toMatchObject({
          forgotten: after,
          deletions: [{ name: 'bb', revision: missed.revision }],
        })
        const followed = await store.layer(ANN).read(after)
        expect([followed.whole, followed.deleted]).toEqual([false, ['bb']])
        expect(followed).toMatchObject({ forgotten: after, deletions: missed.deletions ?? [] })
      })

      test('a name that is gone is as one that never was', async () => {
        const context = within({ deletedMax: 0 })
        await store.write(ANN, [large('aa', '00')], context)
        await store.write(ANN, [remove('aa')], context)
        expect(await store.versions(ANN, 'aa')).toEqual([])
        await expect(store.write(ANN, [remove('aa')], context)).rejects.toMatchObject({
          code: 'TOOL_NOT_FOUND',
        })
        expect((await store.write(ANN, [large('aa', '01')], context))[0]?.outcome).toBe('created')
        expect(await marks('aa')).toBe('01')
      })
    })

    describe('modules', () => {
      const change = (name: string, mark: string) => putModule(name, ['a'], source(mark))
      const report = JSON.stringify(change('m', '00').report)
      const granted = grantsText({ ...change('m', '00'), created: randomUUID() })
      const rest = { lock: null, granted, report, tools: ['m:a'] }
      const ofModule = moduleBytes({ kept: source('00'), ...rest })
      const ofTool = recordBytes(change('m', '00').tools[0]?.text ?? '')
      const present = ofModule.own + ofModule.version + 2 * ofTool
      const past = ofModule.version + ofTool
      const has = async (mark: string): Promise<boolean> =>
        (await store.source(ANN, sha256Of(source(mark)))) !== undefined

      test('the oldest version goes with its source, before what is present is refused', async () => {
        const context = within({ bytesMax: 2 * present + 2 * past })
        for (const mark of ['00', '01', '02', '03']) await store.writeModule(ANN, change('m', mark), context)
        expect(await store.moduleVersions(ANN, 'm')).toHaveLength(4)
        await store.writeModule(ANN, change('n', '04'), context)
        expect(await store.moduleVersions(ANN, 'm')).toHaveLength(3)
        expect([await has('00'), await has('01'), await has('03'), await has('04')]).toEqual([
          false,
          true,
          true,
          true,
        ])
        const { report: told, sha256 } = (await store.module(ANN, 'm')) ?? {}
        expect([told, sha256]).toEqual([change('m', '03').report, sha256Of(source('03'))])
        const larger = putModule('o', ['a'], source('05').repeat(2))
        await expect(store.writeModule(ANN, larger, context)).rejects.toMatchObject({ code: 'LAYER_FULL' })
        expect([await store.source(ANN, larger.sha256), await has('01')]).toEqual([undefined, true])
        await store.writeModule(ANN, removeModule('n'), context)
        await store.writeModule(ANN, change('o', '05'), context)
        expect(await names()).toEqual(['m:a', 'o:a'])
      })

      test('a definition can take the room of an old source, and a source that another version has stays', async () => {
        const context = within({ bytesMax: present + past })
        await store.writeModule(ANN, change('m', '00'), context)
        await store.writeModule(ANN, change('m', '01'), context)
        await store.write(ANN, [large('aa', '00')], context)
        expect([await has('00'), await has('01')]).toEqual([false, true])
        expect(await names()).toEqual(['aa', 'm:a'])
        const wide = within({ bytesMax: 3 * present + past })
        await store.writeModule(ANN, change('n', '01'), wide)
        await store.writeModule(ANN, change('m', '02'), wide)
        await store.writeModule(ANN, change('m', '03'), wide)
        await store.writeModule(ANN, change('m', '04'), wide)
        expect([await has('01'), await has('04')]).toEqual([true, true])
        expect((await store.module(ANN, 'n'))?.sha256).toBe(sha256Of(source('01')))
      })

      test('every file of a module counts, and those of a past version make room', async () => {
        const kept = keptText(moduleContent(files('00')))
        const { own, version } = moduleBytes({ kept, ...rest })
        expect(version).toBeGreaterThan(ofModule.version)
        const each = own + version + 2 * ofTool
        const context = within({ bytesMax: 2 * each + version + ofTool })
        for (const mark of ['00', '01'])
          await store.writeModule(ANN, putModule('m', ['a'], files(mark)), context)
        await store.writeModule(ANN, putModule('n', ['a'], files('02')), context)
        expect(await store.source(ANN, sha256Of(files('00')))).toBeDefined()
        await store.writeModule(ANN, putModule('n', ['a'], files('03')), context)
        expect(await store.source(ANN, sha256Of(files('00')))).toBeUndefined()
        const third = store.writeModule(ANN, putModule('o', ['a'], files('04')), context)
        await expect(third).rejects.toMatchObject({ code: 'LAYER_FULL' })
      })

      test('the lock of a version counts, and goes with it', async () => {
        const lock = lockOf('1.0', ['x'.repeat(1_000)])
        const { version } = moduleBytes({ kept: source('00'), ...rest, lock: lockText(lock) })
        expect(version).toBeGreaterThan(ofModule.version + 1_000)
        const locked = present + version - ofModule.version
        const context = within({ bytesMax: locked + version + ofTool })
        const write = (mark: string) =>
          store.writeModule(ANN, putModule('m', ['a'], source(mark), { lock }), context)
        const hasLock = async (mark: string): Promise<boolean> =>
          (await store.lock(ANN, sha256Of(source(mark)), lock.digest)) !== undefined
        await write('00')
        await write('01')
        expect([await hasLock('00'), await hasLock('01')]).toEqual([true, true])
        await write('02')
        expect([await hasLock('00'), await hasLock('01'), await hasLock('02')]).toEqual([false, true, true])
        const more = store.writeModule(ANN, change('n', '03'), within({ bytesMax: locked + present - 1 }))
        await expect(more).rejects.toMatchObject({ code: 'LAYER_FULL' })
      })

      test('that come and go without end leave no more names and sources than the bound', async () => {
        const context = within({ deletedMax: 4 })
        for (let index = 10; index < 20; index += 1) {
          await store.writeModule(ANN, change(`m${index}`, String(index)), context)
          await store.writeModule(ANN, removeModule(`m${index}`), context)
        }
        const kept = await Promise.all(
          Array.from({ length: 10 }, async (_, index) => ({
            versions: (await store.moduleVersions(ANN, `m${index + 10}`)).length,
            tools: (await store.versions(ANN, `m${index + 10}:a`)).length,
            source: await has(String(index + 10)),
          })),
        )
        const gone = { versions: 0, tools: 0, source: false }
        const left = { versions: 2, tools: 2, source: true }
        expect(kept).toEqual([...Array.from({ length: 8 }, () => gone), left, left])
      })
    })

    test('a record counts, so that empty texts have an end too', async () => {
      const context = within({ bytesMax: 20 * recordBytes() })
      const writing = async (): Promise<void> => {
        for (let index = 0; index < 40; index += 1)
          await store.write(ANN, [put(tool(`t${index}`, ''))], context)
      }
      await expect(writing()).rejects.toMatchObject({ code: 'LAYER_FULL' })
      expect((await names()).length).toBeLessThan(10)
    })
  })
}
