import { expect, test } from '@jest/globals'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { commitsIn } from '../../../../bench/measure/commits.ts'
import type { AuditTrail } from '../../../../functions/src/features/audit/audit-trail.ts'
import { hashOf, partsOf } from '../../../../functions/src/features/audit/record.ts'
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
  expect((await trail.verify()).records).toBe(1)
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
  const bytes = (): string =>
    ['', '-wal', '-newest'].map((end) => readFileSync(path + end, 'latin1')).join('')
  expect(bytes()).toContain('of-user-0')
  await trail.erase({ kind: 'user', uid: 'root' }, 'ann')
  expect(bytes()).not.toContain('of-user-0')
  expect(bytes()).toContain('of-user-1')
  await trail.close()
})

test('while the database takes no records they wait; too many are lost, and only what is required is refused', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'audit.sqlite')
  const trail = memoryAudit({ store: new SqliteAuditStore(path) })
  await trail.record(() => event('ann'))
  expect((await trail.verify()).records).toBe(1)
  const locked = new DatabaseSync(path)
  locked.exec('BEGIN EXCLUSIVE')
  for (let index = 0; index < 1_000; index += 1) await trail.require(() => event('ann'))
  await trail.record(() => event('ann'))
  await expect(trail.require(() => event('ann'))).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
  expect(trail.state).toMatchObject({ lost: 2 })
  locked.exec('ROLLBACK')
  locked.close()
  await trail.require(() => event('ann'))
  const { texts } = await trail.page({ limit: 1 })
  expect(JSON.parse(texts[0] ?? '')).toMatchObject({ seq: 1_002, lostBefore: 2 })
  expect(await trail.verify()).toMatchObject({ fault: null, records: 1_002 })
  await trail.close()
})

function auditFiles() {
  const folder = temporaryFolder()
  let nowMs = Date.parse('2026-03-01T08:00:00Z')
  let copies = 0
  const path = join(folder.path, 'audit.sqlite')
  const start = (at = path) => memoryAudit({ store: new SqliteAuditStore(at), days: 1, now: () => nowMs })
  return {
    path,
    newest: `${path}-newest`,
    start,
    /** Starts with a database of one record, and with these lines, as a process leaves them that is killed before they are rows. */
    startWith(database: Buffer, lines: string | Buffer) {
      copies += 1
      writeFileSync(`${path}${copies}`, database)
      writeFileSync(`${path}${copies}-newest`, lines)
      return start(`${path}${copies}`)
    },
    async databaseOfOne() {
      const trail = start()
      await trail.require(() => event('zoe'))
      await trail.close()
      return readFileSync(path)
    },
    pass: (days: number) => void (nowMs += days * 24 * 60 * 60 * 1_000),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

async function uidsIn(trail: AuditTrail): Promise<readonly string[]> {
  const { texts } = await trail.page({ limit: 99 })
  return texts.map((text) => (JSON.parse(text) as { principal: { uid: string } }).principal.uid).toReversed()
}

test('a killed process loses no record that was written, and the chain goes on', async () => {
  using files = auditFiles()
  const database = await files.databaseOfOne()
  const killed = files.start()
  for (const uid of ['ann', 'bob', 'cy']) await killed.require(() => event(uid))
  expect(statSync(files.newest).mode & 0o777).toBe(0o600)
  const next = files.startWith(database, readFileSync(files.newest))
  await next.require(() => event('dee'))
  expect(await uidsIn(next)).toEqual(['zoe', 'ann', 'bob', 'cy', 'dee'])
  expect(await next.verify()).toMatchObject({ fault: null, records: 5 })
  await killed.close()
  expect(readFileSync(files.newest)).toHaveLength(0)
})

test('lines that are rows already, were erased or are of another chain add nothing', async () => {
  using files = auditFiles()
  const first = files.start()
  for (const uid of ['ann', 'bob']) await first.require(() => event(uid))
  const lines = readFileSync(files.newest)
  await first.close()
  writeFileSync(files.newest, lines)
  const second = files.start()
  expect(await uidsIn(second)).toEqual(['ann', 'bob'])
  await second.erase({ kind: 'user', uid: 'root' }, 'ann')
  await second.close()
  const others = ['1 {}\n', '1 {"instance":"x","day":"2026-03-01","seq":4}\n', 'no line', '\0'.repeat(5_000)]
  for (const left of [lines, ...others]) {
    writeFileSync(files.newest, left)
    const start = files.start()
    expect(await start.verify()).toMatchObject({ fault: null, records: 3, erased: 1 })
    expect(JSON.stringify(await start.page({ limit: 9 }))).not.toContain('ann lives here')
    await start.close()
    expect(readFileSync(files.newest)).toHaveLength(0)
  }
})

test('a line that does not continue the chain, as a power cut can leave, adds nothing', async () => {
  using files = auditFiles()
  const database = await files.databaseOfOne()
  const cut = files.start()
  for (const uid of ['ann', 'bob', 'cy']) await cut.require(() => event(uid))
  const [first = '', second = '', third = ''] = readFileSync(files.newest, 'utf8').split('\n')
  const next = files.startWith(database, `${first}\n${third}\n`)
  expect(await uidsIn(next)).toEqual(['zoe', 'ann'])
  await next.require(() => event('dee'))
  expect(await next.verify()).toMatchObject({ fault: null, records: 3 })
  const forged = files.startWith(database, `${first}\n${second.replace(/"prev":"./, '"prev":"x')}\n`)
  expect(await uidsIn(forged)).toEqual(['zoe', 'ann'])
  for (const trail of [cut, next, forged]) await trail.close()
})

test('a line with the right hash that the table does not take is dropped, with all after it', async () => {
  using files = auditFiles()
  const database = await files.databaseOfOne()
  const killed = files.start()
  for (const uid of ['ann', 'bob', 'cy']) await killed.require(() => event(uid))
  const [first = '', second = '', third = ''] = readFileSync(files.newest, 'utf8').split('\n')
  const text = second.slice(2)
  const { outcome, prev } = JSON.parse(text) as { outcome: string; prev: string }
  const changes = [
    [`"outcome":"${outcome}"`, '"outcome":null'],
    ['"kind":"call"', '"kind":"cell"'],
    ['"uid":"bob"', '"uid":7'],
    ['"at":"', '"at":1,"before":"'],
    ['"tool":', '"tool":7,"before":'],
  ] as const
  for (const [right, wrong] of changes) {
    expect(text).toContain(right)
    const body = partsOf(text)?.body.replace(right, wrong) ?? ''
    const line = `${second.slice(0, 2)}${body.slice(0, -1)},"hash":"${hashOf(prev, body)}"}`
    const next = files.startWith(database, `${first}\n${line}\n${third}\n`)
    for (const uid of ['dee', 'eve']) await next.require(() => event(uid))
    expect(await uidsIn(next)).toEqual(['zoe', 'ann', 'dee', 'eve'])
    expect(await next.verify()).toMatchObject({ fault: null, records: 4 })
    expect(next.state).toMatchObject({ lost: 0 })
    await next.close()
  }
  await killed.close()
})

test('a line that was written only to the end of a page, over a line of the batch before, is dropped', async () => {
  using files = auditFiles()
  const PAGE = 4_096
  await files.databaseOfOne()
  const killed = files.start()
  const add = (uid: string, bytes: number) =>
    killed.require(() => event(uid, { arguments: { text: 'x'.repeat(bytes) } }))
  await add('ann', 0)
  const short = readFileSync(files.newest).length
  await killed.verify()
  // The page ends in the hash, so a mixture of two such lines is JSON.
  const bytes = PAGE + 30 - short
  await add('bob', bytes)
  const old = readFileSync(files.newest)
  await killed.verify()
  const log = new DatabaseSync(files.path)
  log.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  log.close()
  const database = readFileSync(files.path)
  await add('cyd', bytes)
  const now = readFileSync(files.newest)
  expect([old.length, now.length]).toEqual([PAGE + 30, PAGE + 30])
  const whole = files.startWith(database, now)
  expect(await uidsIn(whole)).toEqual(['zoe', 'ann', 'bob', 'cyd'])
  const mixed = Buffer.concat([now.subarray(0, PAGE), old.subarray(PAGE)])
  const next = files.startWith(database, mixed)
  await next.require(() => event('dee'))
  expect(await uidsIn(next)).toEqual(['zoe', 'ann', 'bob', 'dee'])
  expect(await next.verify()).toMatchObject({ fault: null, records: 4 })
  for (const trail of [killed, whole, next]) await trail.close()
})

test('days that are removed leave nothing in the file of the newest records, and do not come back from it', async () => {
  using files = auditFiles()
  const trail = files.start()
  await trail.require(() => event('ann'))
  const firstOfDay = readFileSync(files.newest)
  for (let index = 0; index < 9; index += 1) await trail.require(() => event('ann'))
  files.pass(3)
  await trail.require(() => event('bob'))
  expect(readFileSync(files.newest, 'utf8')).toContain('ann lives here')
  await trail.maintain()
  expect(readFileSync(files.newest, 'utf8')).not.toContain('ann lives here')
  expect(await uidsIn(trail)).toEqual(['bob', 'service'])
  await trail.close()
  writeFileSync(files.newest, firstOfDay)
  const next = files.start()
  expect(await uidsIn(next)).toEqual(['bob', 'service'])
  await next.close()
})

test('records that are added soon one after the other are one commit', async () => {
  using files = auditFiles()
  const trail = files.start()
  await trail.record(() => event('ann'))
  await trail.verify()
  const before = commitsIn(files.path)
  await Promise.all(Array.from({ length: 50 }, () => trail.record(() => event('ann'))))
  expect(commitsIn(files.path) - before).toBe(0)
  expect((await trail.verify()).records).toBe(51)
  expect(commitsIn(files.path) - before).toBe(1)
  await trail.close()
})
