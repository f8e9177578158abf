import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARGUMENTS_KEPT_MS } from '../../../../functions/src/features/approvals/approval.ts'
import { Approvals, type Decision } from '../../../../functions/src/features/approvals/approvals.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteApprovalStore } from '../../../../functions/src/stores/sqlite/sqlite-approval-store.ts'
import { approvalStoreContract, askingCall } from '../../../support/approval-store.contract.ts'
import { newSealing } from '../../../support/memory-governance.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

approvalStoreContract(() => {
  const folder = temporaryFolder()
  const opened: ReturnType<typeof openGovernance>[] = []
  return Promise.resolve({
    open() {
      const database = openGovernance(join(folder.path, 'governance.sqlite'))
      opened.push(database)
      return new SqliteApprovalStore(database)
    },
    dispose() {
      for (const database of opened) database.close()
      folder[Symbol.dispose]()
      return Promise.resolve()
    },
  })
})

test('the approvals of a user who never comes back are erased with the next question of anybody', async () => {
  using folder = temporaryFolder()
  const database = openGovernance(join(folder.path, 'governance.sqlite'))
  const store = new SqliteApprovalStore(database)
  let nowMs = 1_700_000_000_000
  const approvals = new Approvals({ store, now: () => nowMs })
  await approvals.ask(askingCall())
  const always = (await approvals.ask(askingCall({ uid: 'cid' })))?.id ?? ''
  await approvals.decide('cid', always, { decision: 'always' })
  nowMs += ARGUMENTS_KEPT_MS
  await approvals.ask(askingCall({ uid: 'bob' }))
  const uids = (table: string): unknown => database.prepare(`SELECT uid FROM ${table} ORDER BY uid`).all()
  expect(uids('approvals')).toEqual([{ uid: 'bob' }, { uid: 'cid' }])
  expect(uids('approval_arguments')).toEqual([{ uid: 'bob' }])
  database.close()
})

test('the arguments in an older file stay for as long as new ones', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const older = openGovernance(path)
  const id = (await new Approvals({ store: new SqliteApprovalStore(older), now: Date.now }).ask(askingCall()))
    ?.id
  older.exec('DROP INDEX approval_arguments_by_end; ALTER TABLE approval_arguments DROP COLUMN erase_at')
  older.exec('PRAGMA user_version = 7')
  older.close()
  const beforeMs = Date.now()
  const database = openGovernance(path)
  const store = new SqliteApprovalStore(database)
  expect(await store.arguments('ann', id ?? '', beforeMs)).toBe('{"sent":{"text":"ü 🌧️"}}')
  const [row] = database.prepare('SELECT erase_at FROM approval_arguments').all()
  // SQLite counts whole seconds.
  expect(row?.['erase_at']).toBeGreaterThanOrEqual(beforeMs + ARGUMENTS_KEPT_MS - 1_000)
  expect(row?.['erase_at']).toBeLessThanOrEqual(Date.now() + ARGUMENTS_KEPT_MS)
  database.close()
})

test('a database that another program locks is STORE_BUSY, and nothing was asked', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const [database, other] = [openGovernance(path), openGovernance(path)]
  other.exec('BEGIN IMMEDIATE')
  const approvals = new Approvals({ store: new SqliteApprovalStore(database), now: Date.now })
  await expect(approvals.ask(askingCall())).rejects.toMatchObject({ code: 'STORE_BUSY' })
  other.exec('ROLLBACK')
  expect(await approvals.list('ann')).toEqual([])
  for (const each of [database, other]) each.close()
})

test('a change waits for another program that has locked the database for a moment', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const [database, other] = [openGovernance(path), openGovernance(path)]
  other.exec('BEGIN IMMEDIATE')
  const change = new SqliteApprovalStore(database).change('ann', 0, () => ({ result: 'done' }))
  other.exec('ROLLBACK')
  expect(await change).toBe('done')
  for (const each of [database, other]) each.close()
})

test('the arguments of an approval that was cancelled are not in the bytes of the closed file any more', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const bytes = (): Buffer => readFileSync(path)
  const open = () => {
    const database = openGovernance(path)
    return { database, approvals: new Approvals({ store: new SqliteApprovalStore(database), now: () => 0 }) }
  }
  const first = open()
  const id = (await first.approvals.ask(askingCall({ arguments: { text: 'canary in arguments' } })))?.id ?? ''
  first.database.close()
  expect(bytes().includes('canary in arguments')).toBe(true)
  const second = open()
  await second.approvals.remove('ann', id)
  second.database.close()
  expect(bytes().includes('canary in arguments')).toBe(false)
})

test.each([
  ['sealed', newSealing()],
  ['without a key', undefined],
] as const)(
  'no secret of the arguments is in the file, %s, and the call of another key is not run',
  async (_what, sealing) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const database = openGovernance(path)
    const store = new SqliteApprovalStore(database)
    const approvals = new Approvals({ store, sealing, now: () => 0 })
    const call = askingCall({ arguments: { password: 'canary-1', url: 'https://a:canary-2@h.example/' } })
    const id = (await approvals.ask(call))?.id ?? ''
    const decision = { decision: 'once', arguments: sealing ? { token: 'canary-3' } : { text: 'edited' } }
    await approvals.decide('ann', id, decision as Decision)
    expect(await approvals.editedArguments('ann', id, call)).toEqual(decision.arguments)
    const other = new Approvals({ store, sealing: newSealing(), now: () => 0 })
    for (const read of [other.editedArguments('ann', id, call), other.find('ann', id)])
      await expect(read).rejects.toMatchObject({ code: 'APPROVAL_CONFLICT' })
    const bytes = ['', '-wal'].map((end) => readFileSync(path + end, 'latin1')).join('')
    expect(bytes).toContain('notes:write')
    expect(bytes).not.toContain('canary')
    database.close()
  },
)
