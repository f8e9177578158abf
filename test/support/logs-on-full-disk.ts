/** Fills a small disk with logs of one user while another user keeps a few. Prints the remaining logs as JSON. */
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteInvocationLogs } from '../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { endedCall } from './ended-call.ts'

const disk = process.argv[2] ?? ''
const path = join(disk, 'invocations.db')
const logs = new SqliteInvocationLogs(path)
let times = 0
const log = (text: string) => endedCall({ at: new Date((times += 1)).toISOString(), tool: 't', text })

const flood = Array.from({ length: 400 }, (_, index) => log('x'.repeat((index * 7_919) % 64_000)))
const honest = Array.from({ length: 5 }, () => log('honest'.repeat(100)))
let refused = 0
let diskWasFull = false
for (const [index, each] of flood.entries()) {
  await logs.keep('bob', each).catch(() => (refused += 1))
  // Fills the rest of the disk as another program would.
  if (index === 60) fill()
  if (index % 80 === 70) await logs.keep('ann', honest[(index - 70) / 80] ?? each).catch(() => (refused += 1))
  diskWasFull ||= statfsSync(disk).bfree === 0
}
const found = await Promise.all(honest.map(({ invocationId }) => logs.find('ann', invocationId)))
const isKept = async (index: number): Promise<boolean> =>
  (await logs.find('bob', flood.at(index)?.invocationId ?? '')) !== undefined
const [newestOfFlood, oldestOfFlood] = [await isKept(-1), await isKept(0)]
await logs.close()
const database = new DatabaseSync(path, { readOnly: true })
const { integrity_check: integrity } = database.prepare('PRAGMA integrity_check').get() as {
  integrity_check: string
}
database.close()
const honestKept = found.filter((each) => each !== undefined).length
console.log(JSON.stringify({ diskWasFull, refused, newestOfFlood, oldestOfFlood, honestKept, integrity }))

function fill(): void {
  try {
    for (let index = 0; ; index += 1) writeFileSync(join(disk, `filler${index}`), Buffer.alloc(4_096))
  } catch {
    return
  }
}
