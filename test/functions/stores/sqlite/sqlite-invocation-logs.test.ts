import { expect, test } from '@jest/globals'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { LOG_BOUNDS, LOG_KEPT_MS } from '../../../../functions/src/calls/invocation-logs.ts'
import type { LogBounds } from '../../../../functions/src/calls/invocation-logs.ts'
import { openLogs } from '../../../../functions/src/hosts/local/open-databases.ts'
import { SqliteInvocationLogs } from '../../../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { boundOfAllLogsContract, invocationLogsContract } from '../../../support/invocation-logs.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function open(bounds?: LogBounds) {
  const folder = temporaryFolder()
  const clock = { nowMs: 1_700_000_000_000 }
  const path = join(folder.path, 'invocations.db')
  return {
    logs: new SqliteInvocationLogs(path, { now: () => clock.nowMs, ...(bounds && { bounds }) }),
    path,
    clock,
    dispose: () => Promise.resolve(folder[Symbol.dispose]()),
  }
}

invocationLogsContract((bounds) => Promise.resolve(open(bounds)))
boundOfAllLogsContract((bounds) => Promise.resolve(open(bounds)))

let times = 0
const log = (text = 'x') => endedCall({ at: new Date((times += 1)).toISOString(), tool: 't', text })

test('what is too old leaves the file with the next log', async () => {
  const { logs, path, clock, dispose } = open()
  await logs.keep('ann', log())
  clock.nowMs += LOG_KEPT_MS
  await logs.keep('ann', log())
  await logs.close()
  const database = new DatabaseSync(path)
  expect(database.prepare('SELECT count(*) AS logs FROM logs').get()).toEqual({ logs: 1 })
  database.close()
  await dispose()
})

test('the file does not grow beyond the bound, however much is printed, by one user or by many', async () => {
  const { logs, path, dispose } = open({ userBytes: 1_000_000, allBytes: 4_000_000 })
  for (let index = 0; index < 1_500; index += 1)
    await logs.keep(`user${index % 11}`, log('x'.repeat((index * 7_919) % 64_000)))
  const full = statSync(path).size + statSync(`${path}-journal`).size
  for (let index = 0; index < 1_500; index += 1)
    await logs.keep(`user${index % 5}`, log('x'.repeat((index * 104_729) % 64_000)))
  const later = statSync(path).size + statSync(`${path}-journal`).size
  expect(full).toBeLessThan(5_000_000)
  expect(later).toBeLessThan(5_000_000)
  await logs.close()
  await dispose()
})

test('the sums are those of the logs, after logs came and went in every way', async () => {
  const { logs, path, clock, dispose } = open({ userBytes: 50_000, allBytes: 120_000 })
  for (let index = 0; index < 300; index += 1) {
    clock.nowMs += LOG_KEPT_MS / 100
    await logs.keep(`user${(index * 7) % 13}`, log('ü'.repeat((index * 7_919) % 9_000)))
  }
  await logs.close()
  const database = new DatabaseSync(path)
  const sums = database.prepare('SELECT uid, bytes FROM user_sums ORDER BY uid').all()
  const logged = database.prepare('SELECT uid, sum(bytes) AS bytes FROM logs GROUP BY uid ORDER BY uid').all()
  expect(sums).toEqual(logged)
  expect(database.prepare('SELECT bytes FROM whole_sum').get()).toEqual(
    database.prepare('SELECT sum(bytes) AS bytes FROM logs').get(),
  )
  database.close()
  await dispose()
})

test('a lower bound takes effect with the next log', async () => {
  const { logs, path, clock, dispose } = open({ userBytes: 1_000_000, allBytes: 1_000_000 })
  const many = Array.from({ length: 60 }, () => log('x'.repeat(10_000)))
  for (const each of many) await logs.keep('ann', each)
  await logs.close()
  const bounds = { userBytes: 50_000, allBytes: 50_000 }
  const lower = new SqliteInvocationLogs(path, { bounds, now: () => clock.nowMs })
  await lower.keep('bob', log())
  const found = await Promise.all(many.map(({ invocationId }) => lower.find('ann', invocationId)))
  expect(found.filter((each) => each !== undefined)).toHaveLength(4)
  await lower.close()
  await dispose()
})

test('a file of the version before is refused, so that it is made anew', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'invocations.db')
  const old = new DatabaseSync(path)
  old.exec('CREATE TABLE logs (uid TEXT, id TEXT)')
  old.close()
  expect(() => new SqliteInvocationLogs(path)).toThrow('another version')
  const logs = openLogs(folder.path, LOG_BOUNDS)
  await logs.keep('ann', log())
  await logs.close()
})
