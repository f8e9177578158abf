import { median } from './median.ts'
import { valueOf } from './round.ts'
import type { Round } from './round.ts'

/** What the ratio of ours to the other's should be. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number }

/** One line of the report: a metric of one contender beside the same metric of another. */
export type Comparison = {
  readonly what: string
  readonly metric: string
  readonly unit: 'requests/s' | 'builds/s' | 'µs' | 'ms' | 'MB' | 'bytes'
  readonly ours: string
  /** Without one the figure is only told. */
  readonly against?: string
  /** Without one the ratio is only told. */
  readonly goal?: Goal
}

export type Outcome = Comparison & {
  readonly oursMedian: number
  readonly againstMedian?: number
  /** The median of the rounds' ratios: each is taken within one round. */
  readonly ratio?: number
  readonly met?: boolean
}

export function outcomeOf(comparison: Comparison, rounds: readonly Round[]): Outcome {
  const { ours, against, metric, goal } = comparison
  const oursMedian = median(rounds.map((round) => valueOf(round, ours, metric)))
  if (against === undefined) return { ...comparison, oursMedian }
  const againstMedian = median(rounds.map((round) => valueOf(round, against, metric)))
  const ratio = median(rounds.map((round) => valueOf(round, ours, metric) / valueOf(round, against, metric)))
  return { ...comparison, oursMedian, againstMedian, ratio, ...(goal && { met: isMet(goal, ratio) }) }
}

function isMet(goal: Goal, ratio: number): boolean {
  return 'atLeast' in goal ? ratio >= goal.atLeast : ratio <= goal.atMost
}
