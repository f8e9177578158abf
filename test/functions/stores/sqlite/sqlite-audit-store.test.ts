import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { auditFileLines } from '../../../../functions/src/stores/sqlite/audit-file-lines.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { auditContract, event } from '../../../support/audit.contract.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

auditContract(() => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  return Promise.resolve({
    store: new SqliteAuditStore(path),
    again: () => Promise.resolve(new SqliteAuditStore(path)),
    dispose: () => folder[Symbol.dispose](),
  })
})

test('the file itself refuses changes of records and manifests', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  const trail = memoryAudit({ store: new SqliteAuditStore(path) })
  await trail.record(() => event('ann'))
  const database = new DatabaseSync(path)
  expect(() => database.exec("UPDATE records SET outcome = 'x'")).toThrow('never changed')
  expect(() => database.exec('DELETE FROM records')).toThrow('only added')
  database.exec("INSERT INTO manifests VALUES ('2026-01-01', '{}')")
  expect(() => database.exec("UPDATE manifests SET text = 'x'")).toThrow('never changed')
  expect(() => database.exec('DELETE FROM manifests')).toThrow('only added')
  database.close()
  await trail.close()
})

test.each(['kind', 'uid', 'tool', 'outcome', 'place'])(
  'a changed %s that only searches use is found, by the service and in a copy of the file',
  async (column) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'audit.sqlite')
    const trail = memoryAudit({ store: new SqliteAuditStore(path) })
    await trail.record(() => event('ann'))
    await trail.record(() => event('bob'))
    expect((await trail.verify()).fault).toBeNull()
    const database = new DatabaseSync(path)
    database.exec(`INSERT INTO opened VALUES (1); UPDATE records SET ${column} = 'x' WHERE seq = 2`)
    database.close()
    expect((await trail.verify()).fault).toMatchObject({ place: expect.stringMatching(/^record 2 of /) })
    expect([...auditFileLines(path)].map((line) => line.includes('a column of this record'))).toEqual([
      false,
      true,
    ])
    await trail.close()
  },
)

test('what is erased is not in the bytes of the file any more', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  const trail = memoryAudit({ store: new SqliteAuditStore(path) })
  for (let index = 0; index < 50; index += 1)
    await trail.record(() =>
      event(index % 2 === 0 ? 'ann' : 'bob', { arguments: { text: `of-user-${index % 2}` } }),
    )
  const bytes = (): string => ['', '-wal'].map((end) => readFileSync(path + end, 'latin1')).join('')
  expect(bytes()).toContain('of-user-0')
  await trail.erase({ kind: 'user', uid: 'root' }, 'ann')
  expect(bytes()).not.toContain('of-user-0')
  expect(bytes()).toContain('of-user-1')
  await trail.close()
})

test('a full store loses records, counts them, says so in the next record, and refuses only what is required', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  const store = new SqliteAuditStore(path)
  const trail = memoryAudit({ store })
  await trail.record(() => event('ann'))
  const locked = new DatabaseSync(path)
  locked.exec('BEGIN EXCLUSIVE')
  await trail.record(() => event('ann'))
  await expect(trail.require(() => event('ann'))).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
  expect(trail.state).toMatchObject({ lost: 2 })
  locked.exec('ROLLBACK')
  locked.close()
  await trail.require(() => event('ann'))
  const { texts } = await trail.page({ limit: 1 })
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({ seq: 2, lostBefore: 2 })
  expect((await trail.verify()).fault).toBeNull()
  await trail.close()
})
