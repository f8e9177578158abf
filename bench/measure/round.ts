import { median } from './median.ts'

/** The figures of one contender in one round, by metric. */
export type Sample = Readonly<Record<string, number>>

/** The figures of every contender. They are measured shortly after each other, so a slow minute of the machine affects all. */
export type Round = Readonly<Record<string, Sample>>

export function medians(rounds: readonly Round[]): Round {
  const [first = {}] = rounds
  return mapValues(first, (sample, contender) =>
    mapValues(sample, (_, metric) => median(rounds.map((round) => valueOf(round, contender, metric)))),
  )
}

export function valueOf(round: Round, contender: string, metric: string): number {
  const value = round[contender]?.[metric]
  if (value === undefined) throw new Error(`no ${metric} of ${contender} was measured`)
  return value
}

function mapValues<V, W>(
  record: Readonly<Record<string, V>>,
  map: (value: V, key: string) => W,
): Readonly<Record<string, W>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}
