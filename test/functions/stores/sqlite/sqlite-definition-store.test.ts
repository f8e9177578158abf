import { expect, test } from '@jest/globals'
import { grantsDigest } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  DEFINITION_BYTES,
  MODULE_BYTES,
  MODULE_VERSION_BYTES,
} from '../../../../functions/src/stores/sqlite/open-database.ts'
import { SqliteDefinitionStore } from '../../../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { RECORD_BYTES, recordBytes } from '../../../../functions/src/catalog/definitions/layer-totals.ts'
import { by, put, remove, tool } from '../../../support/definition-changes.ts'
import { describeDefinitionStore } from '../../../support/definition-store.contract.ts'
import type { StoreHarness } from '../../../support/definition-store.contract.ts'
import { lockOf, putModule, removeModule, sha256Of } from '../../../support/module-changes.ts'
import { describeConsents } from '../../../support/consent-store.contract.ts'
import { describeLayerRoom } from '../../../support/layer-room.contract.ts'
import { describeModuleStore } from '../../../support/module-store.contract.ts'

async function start(): Promise<StoreHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'toolrack-sqlite-'))
  return {
    open: () => Promise.resolve(new SqliteDefinitionStore(join(folder, 'toolrack.db'))),
    dispose: () => rm(folder, { recursive: true }),
  }
}

describeDefinitionStore('the SQLite store', start)
describeModuleStore('the modules of the SQLite store', start)
describeConsents('the consents of the SQLite store', start)
describeLayerRoom('the room of the SQLite store', start)

async function withDatabase(act: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'toolrack-sqlite-'))
  try {
    await act(join(folder, 'toolrack.db'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('definitions, versions and revisions are there when the file is opened again', () =>
  withDatabase(async (path) => {
    const before = new SqliteDefinitionStore(path)
    await before.write({ kind: 'global' }, [put(tool('a'))], by('ann'))
    const written = await before.layer({ kind: 'global' }).read()
    await before.close()
    const after = new SqliteDefinitionStore(path)
    expect(await after.layer({ kind: 'global' }).read()).toEqual(written)
    expect(await after.versions({ kind: 'global' }, 'a')).toHaveLength(1)
    await after.close()
  }))

test('two databases never share a revision, so that no entity tag is valid for both', () =>
  withDatabase(async (path) => {
    const revisions = []
    for (const file of [path, `${path}2`]) {
      const store = new SqliteDefinitionStore(file)
      await store.write({ kind: 'global' }, [put(tool('a'))], by('ann'))
      revisions.push((await store.layer({ kind: 'global' }).read()).revision)
      await store.close()
    }
    expect(revisions[0]).not.toBe(revisions[1])
  }))

test('a write waits for another program’s lock and goes on when it is let go', () =>
  withDatabase(async (path) => {
    const store = new SqliteDefinitionStore(path, { busyWaitMs: 60_000 })
    const program = new DatabaseSync(path)
    program.exec('BEGIN IMMEDIATE')
    const writing = store.write({ kind: 'global' }, [put(tool('a'))], by('ann'))
    await new Promise((resolve) => setImmediate(resolve))
    program.exec('COMMIT')
    expect((await writing)[0]?.outcome).toBe('created')
    program.close()
    await store.close()
  }))

test('a lock that is not let go is STORE_BUSY, and nothing is written', () =>
  withDatabase(async (path) => {
    const store = new SqliteDefinitionStore(path, { busyWaitMs: 50 })
    const program = new DatabaseSync(path)
    program.exec('BEGIN IMMEDIATE')
    await expect(store.write({ kind: 'global' }, [put(tool('a'))], by('ann'))).rejects.toMatchObject({
      code: 'STORE_BUSY',
    })
    program.exec('ROLLBACK')
    expect((await store.layer({ kind: 'global' }).read()).definitions).toEqual([])
    program.close()
    await store.close()
  }))

test('a database of an earlier version is refused and not touched', () =>
  withDatabase(async (path) => {
    await new SqliteDefinitionStore(path).close()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 5')
    database.close()
    const before = readFileSync(path)
    expect(() => new SqliteDefinitionStore(path)).toThrow('was written by an earlier version of Toolrack')
    expect(readFileSync(path).equals(before)).toBe(true)
  }))

test('a database of the version before gets its new columns, and its records stay readable', () =>
  withDatabase(async (path) => {
    const layer = { kind: 'global' } as const
    const first = new SqliteDefinitionStore(path)
    await first.writeModule(layer, putModule('m', ['a'], 'text'), by('ann'))
    const before = await first.module(layer, 'm')
    await first.close()
    const database = new DatabaseSync(path)
    database.exec(`ALTER TABLE modules DROP COLUMN environment; ALTER TABLE modules DROP COLUMN granted;
      ALTER TABLE module_versions DROP COLUMN environment; PRAGMA user_version = 6`)
    database.close()
    const store = new SqliteDefinitionStore(path)
    const { grants, grantsDigest: digest, consent, created: _created, ...rest } = before ?? {}
    expect(await store.module(layer, 'm')).toStrictEqual(rest)
    expect((await store.writeModule(layer, putModule('m', ['a'], 'text'), by('ann'))).outcome).toBe(
      'unchanged',
    )
    const lock = lockOf('1.0')
    await store.writeModule(layer, putModule('m', ['a'], 'text', { lock }), by('ann'))
    expect(await store.module(layer, 'm')).toStrictEqual({
      ...rest,
      grants,
      grantsDigest: digest,
      consent,
      environment: lock.digest,
      revision: expect.any(String),
    })
    await store.close()
    const again = new SqliteDefinitionStore(path)
    expect(await again.lock(layer, sha256Of('text'), lock.digest)).toEqual(lock)
    await again.close()
  }))

const OF_LAYER = 'layer = layers.layer'

const PRESENT_VERSIONS = `versions WHERE ${OF_LAYER} AND NOT EXISTS (SELECT 1 FROM past_versions
  WHERE past_versions.layer = versions.layer AND past_versions.revision = versions.revision AND past_versions.name = versions.name)`

/**
 * The number of deleted modules without a revocation. They have no row in `modules`, but count as long as they have a version.
 */
const DELETED_MODULES = `(SELECT count(DISTINCT name) FROM module_versions WHERE ${OF_LAYER} AND NOT EXISTS
  (SELECT 1 FROM modules WHERE modules.layer = module_versions.layer AND modules.name = module_versions.name))`

const sum = (bytes: string, of: string): string => `(SELECT coalesce(sum(${bytes}), 0) FROM ${of})`

/** Computes the totals of every layer from its rows, as `layer-totals.ts` counts them. */
const COUNT_TOTALS = `UPDATE layers SET
  bytes = ${sum(DEFINITION_BYTES, `definitions WHERE ${OF_LAYER}`)} + ${sum(DEFINITION_BYTES, `versions WHERE ${OF_LAYER}`)}
    + ${sum(MODULE_BYTES, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION_BYTES, `module_versions WHERE ${OF_LAYER}`)}
    + ${RECORD_BYTES} * ${DELETED_MODULES},
  present_bytes = ${sum(DEFINITION_BYTES, `definitions WHERE ${OF_LAYER} AND text IS NOT NULL`)}
    + ${sum(DEFINITION_BYTES, PRESENT_VERSIONS)}
    + ${sum(MODULE_BYTES, `modules WHERE ${OF_LAYER}`)} + ${sum(MODULE_VERSION_BYTES, `module_versions WHERE ${OF_LAYER} AND past = 0`)},
  deleted = (SELECT count(*) FROM definitions WHERE ${OF_LAYER} AND text IS NULL) + ${DELETED_MODULES};`

type Counted = { readonly layer: string; readonly bytes: number }

function layers(path: string): readonly Counted[] {
  const database = new DatabaseSync(path)
  const rows = database
    .prepare('SELECT layer, bytes, present_bytes, deleted FROM layers ORDER BY layer')
    .all()
  database.close()
  return rows as Counted[]
}

/** Writes of every kind by two users, with bounds that make things go. */
async function writeAtRandom(store: SqliteDefinitionStore): Promise<void> {
  const limits = { bytesMax: 60_000, deletedMax: 3 }
  const random = (below: number): number => ((seed = (seed * 48_271) % 2_147_483_647) >>> 8) % below
  let seed = 7
  const consent = { digest: grantsDigest([]), by: 'x', at: '', isRevoked: true }
  for (let index = 0; index < 400; index += 1) {
    const layer = { kind: 'user', uid: random(2) === 0 ? 'ann' : 'bob' } as const
    const name = `t${random(9)}`
    const text = 'ü'.repeat(random(1_500))
    const writes = [
      () => store.write(layer, [put(tool(name, text)), put(tool(`${name}x`, text))], by('x', 1_000, limits)),
      () => store.write(layer, [remove(name)], by('x', 1_000, limits)),
      () =>
        store.writeModule(layer, putModule(name, ['a', 'b'], `${text}${random(3)}`), by('x', 1_000, limits)),
      () => store.writeModule(layer, putModule(name, ['a'], { '__init__.py': text }), by('x', 1_000, limits)),
      () => store.writeModule(layer, putModule(name, ['a'], text, { consent }), by('x', 1_000, limits)),
      () => store.writeModule(layer, removeModule(name), by('x', 1_000, limits)),
    ]
    await writes[random(6)]?.().catch((error: unknown) => expect(error).toHaveProperty('code'))
  }
}

test('what a layer counts is what lies there', () =>
  withDatabase(async (path) => {
    const before = new SqliteDefinitionStore(path, { bytesMax: 100_000 })
    await writeAtRandom(before)
    await before.close()
    const counted = layers(path)
    expect(counted.map(({ layer }) => layer)).toEqual(['user:ann', 'user:bob'])
    for (const { bytes } of counted) expect(bytes).toBeLessThanOrEqual(60_000)
    const database = new DatabaseSync(path)
    database.exec(COUNT_TOTALS)
    database.close()
    expect(layers(path)).toEqual(counted)
  }))

test('when all layers have too much, the layer with the most past versions gives up the oldest', () =>
  withDatabase(async (path) => {
    const store = new SqliteDefinitionStore(path, { bytesMax: 100_000 })
    const [ann, bob] = [{ kind: 'user', uid: 'ann' } as const, { kind: 'user', uid: 'bob' } as const]
    for (let index = 0; index < 6; index += 1)
      await store.write(bob, [put(tool('b', `${index}${'x'.repeat(2_000)}`))], by('bob'))
    for (let index = 0; index < 60; index += 1)
      await store.write(ann, [put(tool(`t${index % 3}`, `${index}${'x'.repeat(4_000)}`))], by('ann'))
    expect(await store.versions(bob, 'b')).toHaveLength(6)
    const sum = layers(path).reduce((all, { bytes }) => all + bytes, 0)
    expect(sum).toBeLessThanOrEqual(100_000)
    await store.close()
  }))

test('of versions of one revision the definitions go before their module, however many they are', () =>
  withDatabase(async (path) => {
    const store = new SqliteDefinitionStore(path)
    const ann = { kind: 'user', uid: 'ann' } as const
    const first = putModule('m', ['a', 'b', 'c', 'd'], '# first')
    await store.writeModule(ann, first, by('ann'))
    await store.writeModule(ann, putModule('m', ['a', 'b', 'c', 'd'], '# other'), by('ann'))
    const [held] = layers(path)
    const added = put(tool('z'))
    const own = recordBytes(first.tools[0]?.text ?? '')
    const bytesMax = Number(held?.bytes) + 2 * recordBytes(added.text) - 2.5 * own
    const { limits, ...context } = by('ann')
    await store.write(ann, [added], { ...context, limits: { ...limits, bytesMax } })
    const left = ['a', 'b', 'c', 'd'].map(async (name) => (await store.versions(ann, `m:${name}`)).length)
    expect(await Promise.all(left)).toEqual([1, 1, 1, 2])
    expect(await store.moduleVersions(ann, 'm')).toHaveLength(2)
    await store.close()
  }))

const large = (name: string) => put(tool(name, 'x'.repeat(4_000)))

test('a full store refuses the layer that has more than its share, and tells the others that they are not the reason', () =>
  withDatabase(async (path) => {
    const store = new SqliteDefinitionStore(path, { bytesMax: 100_000 })
    const [ann, bob] = [{ kind: 'user', uid: 'ann' } as const, { kind: 'user', uid: 'bob' } as const]
    await store.write(bob, [put(tool('b'))], by('bob'))
    const filling = async (): Promise<void> => {
      for (let index = 0; index < 20; index += 1) await store.write(ann, [large(`t${index}`)], by('ann'))
    }
    await expect(filling()).rejects.toMatchObject({
      code: 'LAYER_FULL',
      message: expect.stringMatching(
        /for 2 layers .* this layer holds 0\.0\d\d MB, which is more than its share/,
      ),
    })
    await expect(store.write(bob, [large('c'), large('d')], by('bob'))).rejects.toMatchObject({
      code: 'STORE_FULL',
      message: expect.stringContaining('is not the reason: the operator has to raise TOOLRACK_STORE_MB'),
    })
    await store.write(ann, [remove('t0'), remove('t1')], by('ann'))
    await store.write(bob, [large('c')], by('bob'))
    await store.close()
  }))

test('a database of a newer version is refused instead of guessed at', () =>
  withDatabase(async (path) => {
    await new SqliteDefinitionStore(path).close()
    const program = new DatabaseSync(path)
    program.exec('PRAGMA user_version = 99')
    program.close()
    expect(() => new SqliteDefinitionStore(path)).toThrow('newer version of Toolrack')
  }))
