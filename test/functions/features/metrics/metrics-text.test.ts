import { expect, test } from '@jest/globals'
import { callMetrics } from '../../../../functions/src/features/metrics/call-metrics.ts'
import { metricsText } from '../../../../functions/src/features/metrics/metrics-text.ts'
import { CallTotals } from '../../../../functions/src/features/statistics/call-totals.ts'
import { endedCall } from '../../../support/ended-call.ts'

test('calls are in the text format of Prometheus; a bucket has all calls that took no longer', () => {
  const totals = new CallTotals()
  for (const durationMs of [0.05, 1, 1, 30, 4_000_000]) totals.addCall(endedCall({ durationMs }))
  totals.addCall(endedCall({ outcome: 'failure', code: 'PERMISSION_DENIED', durationMs: 1 }))
  totals.addCall(endedCall({ replayed: true }))
  totals.addList(true)
  const text = metricsText(callMetrics(totals))
  const [calls] = text.split('# HELP toolrack_call_replays_total')
  expect(calls)
    .toBe(`# HELP toolrack_calls_total Ended calls by the code of their failure, or OK. Without replays and dry runs.
# TYPE toolrack_calls_total counter
toolrack_calls_total{code="OK"} 5
toolrack_calls_total{code="PERMISSION_DENIED"} 1
`)
  const buckets = [...text.matchAll(/_bucket\{le="([^"]+)"\} (\d+)/g)].map(([, le = '', count]) => [
    le,
    Number(count),
  ])
  expect(buckets.length).toBeLessThan(30)
  expect(buckets.toSorted(([, a], [, b]) => Number(a) - Number(b))).toEqual(buckets)
  expect(buckets.find(([le]) => Number(le) > 0.03)).toEqual([expect.any(String), 4])
  expect(buckets.at(0)).toEqual(['0.0001', 1])
  expect(buckets.at(-1)).toEqual(['+Inf', 5])
  expect(text).toContain('toolrack_call_duration_seconds_count 5\n')
  expect(text).toMatch(/toolrack_call_duration_seconds_sum 4000\.03/)
  expect(text).toContain('toolrack_call_replays_total 1\n')
  expect(text).toContain('toolrack_lists_total{answer="same"} 1\n')
})

test('a metric without samples is left out', () => {
  expect(metricsText([{ name: 'a', type: 'gauge', help: 'None.', samples: [] }])).toBe('')
})
