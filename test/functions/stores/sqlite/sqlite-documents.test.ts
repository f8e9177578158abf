import { describe, expect, test } from '@jest/globals'
import { isJsonObject } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { put, remove, type Collection, type Write } from '../../../../functions/src/documents/collection.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDocuments } from '../../../../functions/src/stores/sqlite/sqlite-documents.ts'
import type { Test } from '../../../../functions/src/value-shape.ts'
import { documentsContract } from '../../../support/documents.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteDocuments } from '../../../support/two-stores.ts'

describe('documents in SQLite', () => {
  documentsContract(twoSqliteDocuments)
})

const NOTES: Collection = { name: 'notes', owner: 'user', fields: isJsonObject }
const BODIES: Collection = {
  ...NOTES,
  name: 'bodies',
  hasBody: true,
  quota: { bytes: 100_000, count: 1_000, dropsOldest: { allBytes: 150_000 } },
}
const SOON: Collection<{ readonly endMs: number }> = {
  name: 'soon',
  owner: 'user',
  fields: isJsonObject as Test<{ readonly endMs: number }>,
  hasBody: true,
  expires: ({ endMs }) => endMs,
}
const at = (of: Collection, key: string) => ({ of, key })

function write(documents: Documents, owner: string, ...writes: readonly Write[]): Promise<undefined> {
  const refs = writes.map(({ to }) => to)
  return documents.change(owner, refs, () => ({ result: undefined, writes }))
}

/** Opens a file twice. */
function openTwice() {
  const folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const [database, other] = [openGovernance(path), openGovernance(path)]
  return {
    path,
    database,
    other,
    documents: new SqliteDocuments(database),
    [Symbol.dispose]() {
      for (const each of [database, other]) if (each.isOpen) each.close()
      folder[Symbol.dispose]()
    },
  }
}

test('a database that another program has locked refuses a change and a claim, which were not done', async () => {
  using opened = openTwice()
  const { documents, other } = opened
  other.exec('BEGIN IMMEDIATE')
  await expect(write(documents, 'ann', put(at(NOTES, 'a'), {}))).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await expect(documents.claim('ann', at(NOTES, 'a'), {})).rejects.toMatchObject({ code: 'STORE_BUSY' })
  other.exec('ROLLBACK')
  expect(await documents.read('ann', [at(NOTES, 'a')])).toEqual([undefined])
})

test('a change waits for another program that has locked the database for a moment', async () => {
  using opened = openTwice()
  opened.other.exec('BEGIN IMMEDIATE')
  const change = opened.documents.change('ann', [at(NOTES, 'a')], () => ({ result: 'done' }))
  opened.other.exec('ROLLBACK')
  expect(await change).toBe('done')
})

test('on a full disk a change and a claim are refused, and what was there stays', async () => {
  using opened = openTwice()
  const { documents, database } = opened
  await write(documents, 'ann', put(at(BODIES, 'before'), { n: 1 }))
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
  database.exec(`PRAGMA max_page_count = ${pages}`)
  const large = write(documents, 'ann', put(at(BODIES, 'before'), { n: 2 }, 'x'.repeat(90_000)))
  await expect(large).rejects.toMatchObject({ code: 'STORE_FULL' })
  async function claimUntilFull(): Promise<void> {
    for (let index = 0; index < 5_000; index += 1) await documents.claim('ann', at(NOTES, `new${index}`), {})
  }
  await expect(claimUntilFull()).rejects.toMatchObject({ code: 'STORE_FULL' })
  const [kept] = await documents.read('ann', [at(BODIES, 'before')])
  expect([kept?.fields, kept?.body]).toEqual([{ n: 1 }, undefined])
})

test('what cannot be read is STORE_FAILED', async () => {
  using opened = openTwice()
  opened.database.exec('DROP TABLE document_bodies')
  await expect(opened.documents.list('ann', NOTES, { limit: 1 })).resolves.toEqual([])
  opened.database.close()
  await expect(opened.documents.read('ann', [at(NOTES, 'a')])).rejects.toThrow()
})

test('when all owners together have too many bytes of bodies, who has most loses the oldest', async () => {
  using opened = openTwice()
  const { documents } = opened
  const keys = Array.from({ length: 9 }, (_, index) => at(BODIES, `k${index}`))
  for (const owner of ['bob', 'ann'])
    for (const to of keys) await write(documents, owner, put(to, {}, 'x'.repeat(9_744)))
  const bodiesOf = async (owner: string) =>
    (await documents.read(owner, keys)).filter((kept) => kept?.body !== undefined).length
  expect([await bodiesOf('bob'), await bodiesOf('ann')].toSorted()).toEqual([7, 8])
})

test('the sums are those of the rows, after documents and bodies came, changed and went in every way', async () => {
  const opened = twoSqliteDocuments()
  const [documents] = opened.documents
  const [clock] = opened.clocks
  for (let index = 0; index < 300; index += 1) {
    clock.nowMs += 1_000
    const owner = `user${(index * 7) % 5}`
    const bodies = at(BODIES, `k${index % 40}`)
    const soon = { of: SOON, key: `k${index % 20}` }
    const text = 'ü'.repeat((index * 7_919) % 9_000)
    await write(documents, owner, index % 4 === 0 ? remove(bodies) : put(bodies, { index }, text))
    await write(documents, owner, put(soon, { endMs: clock.nowMs + 30_000 }, text))
    await documents.claim(owner, at(NOTES, `k${index % 50}`), { text })
  }
  const all = (sql: string) => opened.databases[0].prepare(sql).all()
  expect(all('SELECT * FROM document_sums')).toEqual(
    all(`SELECT collection, owner, count(*) AS count, sum(bytes) AS bytes FROM documents
      GROUP BY collection, owner ORDER BY collection, owner`),
  )
  expect(all('SELECT * FROM collection_sums')).toEqual(
    all('SELECT collection, sum(bytes) AS bytes FROM documents GROUP BY collection ORDER BY collection'),
  )
  expect(
    all('SELECT document FROM document_bodies WHERE document NOT IN (SELECT number FROM documents)'),
  ).toEqual([])
  await opened.dispose()
})

test('what has expired of an owner who never comes back is erased with the next change of anybody', async () => {
  const opened = twoSqliteDocuments()
  const [documents] = opened.documents
  const [clock] = opened.clocks
  await write(documents, 'ann', put({ of: SOON, key: 'a' }, { endMs: clock.nowMs + 5_000 }, 'body'))
  clock.nowMs += 5_000
  await write(documents, 'bob', put(at(NOTES, 'a'), {}))
  const rows = ['documents', 'document_bodies'].map((table) =>
    opened.databases[0].prepare(`SELECT owner FROM ${table}`).all(),
  )
  expect(rows).toEqual([[{ owner: 'bob' }], []])
  await opened.dispose()
})

test('a body that was removed is not in the bytes of the closed file any more', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  async function change(of: Write): Promise<boolean> {
    const database = openGovernance(path)
    await write(new SqliteDocuments(database), 'ann', of)
    database.close()
    return readFileSync(path).includes('canary in a body')
  }
  expect(await change(put(at(BODIES, 'a'), {}, 'canary in a body'))).toBe(true)
  expect(await change(remove(at(BODIES, 'a')))).toBe(false)
})
