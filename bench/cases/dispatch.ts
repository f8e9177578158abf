import { ARGUMENTS, callOf } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import { timedInTurns } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer } from '../processes/embedded-server.ts'
import { serviceClient, uploadModule } from '../processes/service-client.ts'

/** The number of calls in one dispatch. */
const AT_ONCE = 8
const ROUND = 40
/** The dispatches before the first measured one. They find too few waiting children, so the runner then keeps as many as it may. */
const WARM_DISPATCHES = 20
/** During this pause the runner prepares eight new children, so their preparation is not measured. */
const PAUSE_MS = 100

const MODULE = 'echo_json'
const DISPATCH = `Toolrack, dispatch of ${AT_ONCE}`
const ONE = 'Toolrack, one invoke'
const SOON = 'Toolrack, one invoke, 8 ms after the last'

/** Measures a dispatch of eight calls through an embedded server, each in its own waiting process, against one call. */
export function dispatch(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withEmbeddedServer(folder, { python }, async (server) => {
      await uploadModule(server, MODULE, callOf(MODULE).source)
      const client = await serviceClient(server)
      const call = { name: `${MODULE}:echo`, arguments: ARGUMENTS }
      const calls = Array.from({ length: AT_ONCE }, () => call)
      for (let warm = 0; warm < WARM_DISPATCHES; warm += 1) await client.dispatch(calls)
      const one = () => client.invoke(call)
      const contenders = [
        { name: DISPATCH, calls: ROUND, pauseMs: PAUSE_MS, call: () => client.dispatch(calls) },
        { name: ONE, calls: ROUND, pauseMs: PAUSE_MS, call: one },
        { name: SOON, calls: ROUND, call: one },
      ]
      const rounds = await timedInTurns(contenders, count)
      client.close()
      return { rounds, comparisons: COMPARISONS, sharesCores: true }
    }),
  )
}

const ours = { unit: 'µs', ours: DISPATCH } as const
const COMPARISONS: readonly Comparison[] = [
  { ...ours, what: `${AT_ONCE} calls, median`, metric: 'p50Us', against: ONE, goal: { atMost: 3 } },
  { ...ours, what: `${AT_ONCE} calls, p99`, metric: 'p99Us', against: ONE },
  {
    ...ours,
    what: `${AT_ONCE} calls, median, against a call soon after another`,
    metric: 'p50Us',
    against: SOON,
  },
]
