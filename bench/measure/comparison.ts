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
  /** Undefined without a goal, and if the generator was the limit. */
  readonly met?: boolean
  /** True if a server waited for the generator, so that the ratio does not compare the servers. */
  readonly generatorIsLimit?: true
}

/** A server that uses less than this share of its core waits for something. */
const BUSY_AT_LEAST = 0.9

/** Makes a comparison from the figures of the rounds, and tells whether the generator was the limit. */
export function compare(comparison: Comparison, rounds: readonly Round[]): ComparisonResult {
  const { met, ...result } = ratioOf(comparison, rounds)
  if (isGeneratorLimit(comparison, rounds, met)) return { ...result, generatorIsLimit: true }
  return { ...result, ...(met !== undefined && { met }) }
}

/**
 * True if a server waited while the generator used more of its core than the server. If only our server waited, the true ratio is
 * higher than the measured ratio. So if the goal is met, the result is false.
 */
function isGeneratorLimit(
  { ours, against, metric }: Comparison,
  rounds: readonly Round[],
  met: boolean | undefined,
): boolean {
  if (metric !== 'requestsPerSecond') return false
  const busyOf = (name: string, which: 'busy' | 'generatorBusy'): number =>
    median(rounds.map((round) => valueOf(round, name, which)))
  const waited = (name: string): boolean =>
    busyOf(name, 'busy') < Math.min(BUSY_AT_LEAST, busyOf(name, 'generatorBusy'))
  return (against !== undefined && waited(against)) || (met !== true && waited(ours))
}

function ratioOf(comparison: Comparison, rounds: readonly Round[]): ComparisonResult {
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
