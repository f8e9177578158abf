import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { valueOf } from '../measure/round.ts'
import type { Round } from '../measure/round.ts'
import { timedInTurns } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withRunner } from '../processes/python-runner.ts'
import { callTool, warmModule } from '../processes/warm-module.ts'

const CALLS = 400
/** How much longer the median call may take because of the types. */
const MORE_US = 200

const TYPED = 'a handler with types'
const DICTS = 'the same handler on dicts'
const MORE = 'the difference'

/** Measures warm calls of a handler whose arguments and result are converted, against the same handler on dicts. */
export function convertedCall(_: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withRunner(python, async (runner) => {
      const client = await runner.connect()
      const typed = await warmModule(client, runner, 'echo_converted')
      const dicts = await warmModule(client, runner, 'echo_json')
      const contenders = [
        { name: TYPED, calls: CALLS, call: () => callTool(client, typed) },
        { name: DICTS, calls: CALLS, call: () => callTool(client, dicts) },
      ]
      const rounds = (await timedInTurns(contenders, count)).map(withDifference)
      client.close()
      return { rounds, comparisons: COMPARISONS, sharesCores: true }
    }),
  )
}

function withDifference(round: Round): Round {
  const p50Us = valueOf(round, TYPED, 'p50Us') - valueOf(round, DICTS, 'p50Us')
  return { ...round, [MORE]: { p50Us } }
}

const COMPARISONS: readonly Comparison[] = [
  {
    what: 'warm call with types, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: TYPED,
    against: DICTS,
  },
  { what: 'warm call with types, p99', metric: 'p99Us', unit: 'µs', ours: TYPED, against: DICTS },
  {
    what: 'more than on dicts, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: MORE,
    goal: { atMost: MORE_US },
  },
]
