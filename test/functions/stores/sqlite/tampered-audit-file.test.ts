import { afterAll, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { headText, TrailVerifier } from '../../../../functions/src/features/audit/verify-trail.ts'
import type { TrailFault } from '../../../../functions/src/features/audit/verify-trail.ts'
import { auditFileLines, auditLines } from '../../../../functions/src/stores/sqlite/audit-file-lines.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { TAMPERED_KEY, tamperableTrail, tampered } from '../../../support/audit-tamperings.ts'
import type { Row, Tables } from '../../../support/audit-tamperings.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const folder = temporaryFolder()
const path = join(folder.path, 'audit.sqlite')
const trail = await tamperableTrail(new SqliteAuditStore(path), 8)
const { heads: ends, manifestHead, fault } = await trail.verify()
afterAll(async () => {
  await trail.close()
  folder[Symbol.dispose]()
})

/** The heads, as an operator keeps them elsewhere. */
const heads = [...ends.map(headText), manifestHead ?? '']
const WHOLE: Tables = (() => {
  const database = new DatabaseSync(path, { readOnly: true })
  const all = (table: string) => database.prepare(`SELECT * FROM ${table}`).all() as Row[]
  const tables = { records: all('records'), manifests: all('manifests') }
  database.close()
  return tables
})()

/** A file without the constraints and triggers of the real one: whoever can write the file can remove them too. */
const file = new DatabaseSync(':memory:')
const columnsOf = (table: string): readonly string[] => Object.keys(WHOLE[table]?.[0] ?? {})
for (const table of Object.keys(WHOLE)) file.exec(`CREATE TABLE ${table} (${columnsOf(table).join(', ')})`)

function fill(database: DatabaseSync, tables: Tables): void {
  for (const [table, rows] of Object.entries(tables)) {
    database.exec(`DELETE FROM ${table}`)
    const columns = columnsOf(table)
    const add = database.prepare(
      `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
    )
    for (const row of rows) add.run(...columns.map((column) => row[column] ?? null))
  }
}

function faultOf(tables: Tables): TrailFault | null {
  file.exec('BEGIN')
  fill(file, tables)
  const verifier = new TrailVerifier({ publicKey: TAMPERED_KEY?.publicKey, heads })
  for (const line of auditLines(file)) verifier.take(line)
  file.exec('COMMIT')
  return verifier.end().fault
}

test('the whole file has no fault', () => {
  expect([fault, faultOf(WHOLE), [...auditFileLines(path)].length]).toEqual([null, null, 39])
})

test('each of 1,000 random tamperings of every column, row, day and manifest is found', () => {
  const missed: string[] = []
  let rounds = 0
  for (let seed = 1; rounds < 1_000 && seed < 5_000; seed += 1) {
    const change = tampered(WHOLE, seed)
    if (!change) continue
    rounds += 1
    if (faultOf(change.tables) === null) missed.push(change.what)
  }
  expect([rounds, missed]).toEqual([1_000, []])
})

test('the service finds them in its own file, and a damaged record does not stop it', async () => {
  const database = new DatabaseSync(path)
  // Whoever can write the file can also remove what protects its rows.
  for (const row of database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all())
    database.exec(`DROP TRIGGER ${String(row['name'])}`)
  const missed: string[] = []
  let rounds = 0
  for (let seed = 5_001; seed < 5_400; seed += 1) {
    const change = tampered(WHOLE, seed)
    // What has no trace in the rest is found with heads that were kept elsewhere.
    if (!change || /cut off|removed/.test(change.what)) continue
    database.exec('BEGIN')
    try {
      fill(database, change.tables)
    } catch {
      // Two rows cannot have the same place.
      database.exec('ROLLBACK')
      continue
    }
    database.exec('COMMIT')
    rounds += 1
    await trail.checkNewest()
    if (trail.fault === null) missed.push(`after a start: ${change.what}`)
    if ((await trail.verify()).fault === null) missed.push(change.what)
    fill(database, WHOLE)
    await trail.checkNewest()
    if (trail.fault !== null) missed.push(`${change.what} is still told`)
  }
  database.close()
  expect(missed).toEqual([])
  expect(rounds).toBeGreaterThan(100)
})
