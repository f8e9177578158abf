/** The smallest value that at least this share of the values does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The middle value, or the mean of the two in the middle. */
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
