import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { LOG_KEPT_MS } from '../../../../functions/src/calls/pipeline/invocation-logs.ts'
import { SqliteInvocationLogs } from '../../../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { invocationLogsContract } from '../../../support/invocation-logs.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function open() {
  const folder = temporaryFolder()
  const clock = { nowMs: 1_700_000_000_000 }
  const path = join(folder.path, 'invocations.db')
  return {
    logs: new SqliteInvocationLogs(path, () => clock.nowMs),
    path,
    clock,
    dispose: () => Promise.resolve(folder[Symbol.dispose]()),
  }
}

invocationLogsContract(() => Promise.resolve(open()))

const log = () => ({ invocationId: randomUUID(), tool: 't', at: '', text: 'x', truncated: false })

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
