import { fileURLToPath } from 'node:url'
import { callOf } from '../definitions/echo-tool.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { RUNNER, startRunner } from '../processes/python-runner.ts'
import type { StartedRunner } from '../processes/python-runner.ts'
import { callTool } from '../processes/warm-module.ts'

/** The number of starts per round. A start takes little time, but the times of starts differ much. */
const STARTS = 3
const FRESH_SERVER = fileURLToPath(new URL('../python/fresh_server.py', import.meta.url))

const OURS = 'Toolrack, its isolation measured'
const PEER = 'FastAPI, uvicorn and python -I'

/** Measures the time from the start of a process to its first answer of a tool. */
export function runnerStart(_: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython(async (python) => {
    const rounds: Round[] = []
    // The first start is not measured, because it compiles the imported modules.
    while (rounds.length <= count * STARTS) {
      rounds.push({
        [OURS]: await start(() => startRunner(python, [RUNNER, '--parent=stdin'])),
        [PEER]: await start(() => startRunner(python, [FRESH_SERVER])),
      })
    }
    return { rounds: rounds.slice(1), comparisons: COMPARISONS, sharesCores: true }
  })
}

async function start(run: () => Promise<StartedRunner>): Promise<Sample> {
  const startedMs = performance.now()
  const { connect, stop } = await run()
  try {
    const openMs = performance.now() - startedMs
    const client = await connect()
    await callTool(client, callOf('echo_json'))
    const readyMs = performance.now() - startedMs
    client.close()
    return { openMs, readyMs }
  } finally {
    await stop()
  }
}

const ready = { metric: 'readyMs', unit: 'ms', ours: OURS, against: PEER } as const

const COMPARISONS = [
  { ...ready, what: 'process start to the first answer of a tool', goal: { atMost: 0.5 } },
  { ...ready, what: 'process start to open port', metric: 'openMs' },
]
