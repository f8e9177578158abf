import { ToolDefs } from '../../packages/client/src/index.ts'
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { withServers } from '../processes/server-process.ts'
import type { ServerProcess, StartServer } from '../processes/server-process.ts'

const DEADLINE_MS = 1_000
/** How many lists follow the first list without the service, and the pause before each, as in a busy workflow engine. */
const LISTS = 100
const LIST_EACH_MS = 20

const DIED = 'service stopped'
const SILENT = 'service that never answers'
const LOCAL = 'service stopped, nothing remembered'

/** Measures a client's list after its service has died: with 753 remembered definitions, or with only the client's own. */
export async function clientFallback(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const env = await makeData(folder, bfclDefinitions())
  const rounds: Round[] = []
  while (rounds.length < count) {
    rounds.push({
      [DIED]: await withServers((start) => afterDeath(start, env, (server) => server.stop(), 'remembered')),
      [SILENT]: await withServers((start) => afterDeath(start, env, suspend, 'remembered')),
      [LOCAL]: await withServers((start) => afterDeath(start, env, (server) => server.stop(), 'local')),
    })
  }
  return { rounds, comparisons: COMPARISONS }
}

async function afterDeath(
  start: StartServer,
  env: NodeJS.ProcessEnv,
  end: (server: ServerProcess) => Promise<void> | void,
  source: 'remembered' | 'local',
) {
  const server = await start('toolrack.ts', { env })
  const { url: service, token = '' } = server
  const defs = new ToolDefs({ service, token, deadlineMs: DEADLINE_MS })
  if (source === 'remembered') assert.equal((await defs.list()).source, 'service')
  await end(server)
  try {
    const firstMs = await listMs(defs, source)
    const nextMs: number[] = []
    while (nextMs.length < LISTS) {
      await pause(LIST_EACH_MS)
      nextMs.push(await listMs(defs, source))
    }
    return { firstMs, nextMs: median(nextMs), slowestMs: Math.max(...nextMs) }
  } finally {
    if (end === suspend) process.kill(server.pid, 'SIGCONT')
  }
}

async function listMs(defs: ToolDefs, expected: string): Promise<number> {
  const startedMs = performance.now()
  const { source } = await defs.list()
  const ms = performance.now() - startedMs
  assert.equal(source, expected)
  return ms
}

/** Suspends the server: its connections remain open, and it answers nothing. */
function suspend(server: ServerProcess): void {
  process.kill(server.pid, 'SIGSTOP')
}

const first = { metric: 'firstMs', unit: 'ms', of: 'highest' } as const
const next = { unit: 'ms', of: 'highest' } as const

const COMPARISONS: readonly Comparison[] = [DIED, SILENT, LOCAL].flatMap((ours): readonly Comparison[] => [
  // The limit is a little above the deadline, because timers fire late.
  {
    ...first,
    what: `first list, ${ours}, deadline ${DEADLINE_MS} ms`,
    ours,
    goal: { atMost: DEADLINE_MS + 50 },
  },
  { ...next, metric: 'nextMs', what: `the next lists, ${ours}, median`, ours, goal: { atMost: 1 } },
  { ...next, metric: 'slowestMs', what: `the next lists, ${ours}, slowest`, ours },
])
