import { median } from './median.ts'
import { valueOf } from './round.ts'
import type { Round } from './round.ts'

/** The goal for the ratio of `ours` to `against` or, if there is no `against`, for the figure of `ours`. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number }

/** One line of the report: a metric of one contender beside the same metric of another. */
export type Comparison = {
  readonly what: string
  readonly metric: string
  readonly unit:
    | 'requests/s'
    | 'calls/s'
    | 'builds/s'
    | 'reads/s'
    | 'calls'
    | 'reads'
    | 'left'
    | 'µs'
    | 'ms'
    | 'MB'
    | 'bytes'
    | '%'
    | 'times'
  readonly ours: string
  /** Takes the highest figure of the rounds instead of the median. */
  readonly of?: 'highest'
  /** Without `against` the goal is for the figure itself. */
  readonly against?: string
  /** Without a goal the figures are only reported. */
  readonly goal?: Goal
}

export type ComparisonResult = Comparison & {
  /** The median of the rounds, or with `of` the highest figure. */
  readonly oursMedian: number
  readonly againstMedian?: number
  /** The median of the ratios. Each ratio is calculated within one round. */
  readonly ratio?: number
  readonly met?: boolean
}

export function compare(comparison: Comparison, rounds: readonly Round[]): ComparisonResult {
  const { ours, against, metric, goal } = comparison
  const figures = rounds.map((round) => valueOf(round, ours, metric))
  const oursMedian = comparison.of === 'highest' ? Math.max(...figures) : median(figures)
  if (against === undefined)
    return { ...comparison, oursMedian, ...(goal && { met: isMet(goal, oursMedian) }) }
  const againstMedian = median(rounds.map((round) => valueOf(round, against, metric)))
  const ratio = median(rounds.map((round) => valueOf(round, ours, metric) / valueOf(round, against, metric)))
  return { ...comparison, oursMedian, againstMedian, ratio, ...(goal && { met: isMet(goal, ratio) }) }
}

function isMet(goal: Goal, figure: number): boolean {
  return 'atLeast' in goal ? figure >= goal.atLeast : figure <= goal.atMost
}
