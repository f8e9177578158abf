/** A percentile: with `share` 0.99, the smallest value such that 99 % of all values are not larger. NaN if there are no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  return (
    (percentile(values, 0.5) +
      -percentile(
        values.map((value) => -value),
        0.5,
      )) /
    2
  )
}
