import { expect, test } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteDefinitionStore } from '../../../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { by, put, tool } from '../../../support/definition-changes.ts'
import { describeDefinitionStore } from '../../../support/definition-store.contract.ts'
import type { StoreHarness } from '../../../support/definition-store.contract.ts'
import { putModule } from '../../../support/module-changes.ts'
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

test('a database of the version before modules goes on with what it has, and takes modules', () =>
  withDatabase(async (path) => {
    const before = new SqliteDefinitionStore(path)
    await before.write({ kind: 'global' }, [put(tool('a'))], by('ann'))
    await before.close()
    const old = new DatabaseSync(path)
    old.exec('DROP TABLE modules; DROP TABLE module_versions; DROP TABLE blobs; PRAGMA user_version = 1')
    old.close()
    const after = new SqliteDefinitionStore(path)
    await after.writeModule({ kind: 'global' }, putModule('m', ['b']), by('ann'))
    const { definitions } = await after.layer({ kind: 'global' }).read()
    expect(definitions.map(({ name }) => name)).toEqual(['a', 'm:b'])
    await after.close()
    await new SqliteDefinitionStore(path).close()
  }))

test('a database of a newer version is refused instead of guessed at', () =>
  withDatabase(async (path) => {
    await new SqliteDefinitionStore(path).close()
    const program = new DatabaseSync(path)
    program.exec('PRAGMA user_version = 99')
    program.close()
    expect(() => new SqliteDefinitionStore(path)).toThrow('newer version of Toolrack')
  }))
