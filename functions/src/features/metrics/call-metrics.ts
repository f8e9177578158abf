import { BUCKETS, endOfBucketMs } from '../statistics/durations.ts'
import type { CallTotals } from '../statistics/call-totals.ts'
import { single, type Metric, type Sample } from './metrics-text.ts'

/**
 * How many buckets of the count are one bucket of the metric. Four are about a factor of two, which is enough for a graph, and makes
 * 24 lines.
 */
const BUCKETS_IN_ONE = 4

/** What a process has counted of calls and lists since its start. */
export function callMetrics(totals: CallTotals): readonly Metric[] {
  const { calls, replays, dryRuns, lists } = totals
  return [
    {
      name: 'toolrack_calls_total',
      type: 'counter',
      help: 'Ended calls by the code of their failure, or OK. Without replays and dry runs.',
      samples: [...calls].map(([code, count]): Sample => [{ code }, count]),
    },
    single(
      'toolrack_call_replays_total',
      'counter',
      'Calls that were answered with an earlier result.',
      replays,
    ),
    single('toolrack_call_dry_runs_total', 'counter', 'Questions what would happen to a call.', dryRuns),
    durations(totals),
    {
      name: 'toolrack_lists_total',
      type: 'counter',
      help: 'Lists that were sent, and lists that the client had already.',
      samples: [
        [{ answer: 'sent' }, lists.sent],
        [{ answer: 'same' }, lists.same],
      ],
    },
  ]
}

function durations({ durations: counts, durationsMs }: CallTotals): Metric {
  const samples: Metric['samples'][number][] = []
  let sum = 0
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    sum += counts[bucket] ?? 0
    if (bucket % BUCKETS_IN_ONE !== 0 || bucket === BUCKETS - 1) continue
    const le = String(Number((endOfBucketMs(bucket) / 1_000).toPrecision(4)))
    samples.push([{ le }, sum, '_bucket'])
  }
  samples.push([{ le: '+Inf' }, sum, '_bucket'], [{}, durationsMs / 1_000, '_sum'], [{}, sum, '_count'])
  return {
    name: 'toolrack_call_duration_seconds',
    type: 'histogram',
    help: 'How long the calls took that have run a tool, in the service and the runner together.',
    samples,
  }
}
