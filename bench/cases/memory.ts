import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import { manyDefinitions } from '../definitions/many.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { LIST_PATH, ask } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'

const COUNT = 10_000
const NONE = 'no definitions'
const MANY = '10,000 definitions'
const EACH = 'each definition'

/** Measures the memory of a new server after its first list, and the time from its start to this list. */
export async function memory(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const none = await makeData(folder, [])
  const many = await makeData(folder, manyDefinitions(bfclDefinitions(), COUNT))
  const rounds: Round[] = []
  while (rounds.length < count) {
    const [without, filled] = [await firstList(none), await firstList(many)]
    const each = {
      rssBytes: ((filled.rssMb - without.rssMb) * 1e6) / COUNT,
      usedBytes: ((filled.heapMb + filled.buffersMb - without.heapMb - without.buffersMb) * 1e6) / COUNT,
    }
    rounds.push({ [NONE]: without, [MANY]: filled, [EACH]: each })
  }
  return { rounds, comparisons: COMPARISONS }
}

function firstList(env: NodeJS.ProcessEnv) {
  return withServers(async (start) => {
    const server = await start('toolrack.ts', { env, nodeArgs: ['--expose-gc'] })
    await ask(server, LIST_PATH)
    const readyMs = performance.now() - server.startedMs
    const { rssBytes, heapBytes, externalBytes } = await server.usage()
    return { readyMs, rssMb: rssBytes / 1e6, heapMb: heapBytes / 1e6, buffersMb: externalBytes / 1e6 }
  })
}

const COMPARISONS: readonly Comparison[] = [
  { what: 'process start to first 200', metric: 'readyMs', unit: 'ms', ours: MANY, against: NONE },
  { what: 'RSS after the first list', metric: 'rssMb', unit: 'MB', ours: MANY, against: NONE },
  { what: 'heap', metric: 'heapMb', unit: 'MB', ours: MANY, against: NONE },
  { what: 'buffers', metric: 'buffersMb', unit: 'MB', ours: MANY, against: NONE },
  { what: 'heap and buffers', metric: 'usedBytes', unit: 'bytes', ours: EACH },
  { what: 'RSS', metric: 'rssBytes', unit: 'bytes', ours: EACH },
]
