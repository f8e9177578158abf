import { join } from 'node:path'
import { CallCounts } from '../../functions/src/features/statistics/call-counts.ts'
import { HourStore } from '../../functions/src/features/statistics/hour-store.ts'
import { ListTokens } from '../../functions/src/features/statistics/list-tokens.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDocuments } from '../../functions/src/stores/sqlite/sqlite-documents.ts'
import { endedCall } from '../../test/support/ended-call.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'

/** The calls of one measurement, and how many measurements a median is of. */
const CALLS = 20_000
const TIMES = 15
/** The calls are of so many users and tools. */
const USERS = 10
const TOOLS = 50
/** What statistics may add to a warm call, in microseconds. Limits and circuits have a share of the 50 too. */
const US_MAX = 5
/** How long a write in the background may block other requests, in milliseconds. */
const WRITE_MS_MAX = 50

const COUNT = 'the count of a call'
const WRITE = 'the write of all counts'
const DAY = 'the statistics of a day'

/** Measures what statistics add to a call in the memory of one process, and how long their writes and reads take. */
export async function statistics(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const rounds: Round[] = []
  while (rounds.length < count) rounds.push(await measured(join(folder, `${rounds.length}.sqlite`)))
  return {
    rounds,
    comparisons: [
      {
        what: 'what statistics add to a call',
        metric: 'us',
        unit: 'µs',
        ours: COUNT,
        goal: { atMost: US_MAX },
      },
      {
        what: `a write of ${USERS} users with ${TOOLS} tools`,
        metric: 'ms',
        unit: 'ms',
        ours: WRITE,
        goal: { atMost: WRITE_MS_MAX },
      },
      { what: `a read of ${TOOLS} tools`, metric: 'ms', unit: 'ms', ours: DAY },
    ],
    sharesCores: true,
  }
}

async function measured(path: string): Promise<Round> {
  const database = openGovernance(path)
  const store = new HourStore(new SqliteDocuments(database))
  const log = { warn: (message: string) => console.error(message) }
  const counts = new CallCounts({ store, listTokens: new ListTokens(), now: Date.now, log })
  const calls = Array.from({ length: TOOLS }, (_, at) =>
    endedCall({ tool: `tool:${at}`, durationMs: 2 ** (at % 12) }),
  )
  const users = Array.from({ length: USERS }, (_, at) => `user${at}`)
  const [countUs, writeMs, readMs]: [number[], number[], number[]] = [[], [], []]
  for (let time = 0; time < TIMES; time += 1) {
    let startedMs = performance.now()
    for (let each = 0; each < CALLS; each += 1)
      counts.countCall(
        users[each % USERS] ?? '',
        calls[Math.floor(each / USERS) % TOOLS] ?? endedCall(),
        Date.now(),
      )
    countUs.push(((performance.now() - startedMs) * 1_000) / CALLS)
    startedMs = performance.now()
    await counts.write()
    writeMs.push(performance.now() - startedMs)
    startedMs = performance.now()
    await counts.read('', Date.now() - 24 * 60 * 60 * 1_000, Date.now())
    readMs.push(performance.now() - startedMs)
  }
  await counts.close()
  database.close()
  return { [COUNT]: { us: median(countUs) }, [WRITE]: { ms: median(writeMs) }, [DAY]: { ms: median(readMs) } }
}
