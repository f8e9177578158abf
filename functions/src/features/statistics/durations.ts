/**
 * How often calls took how long: the number of calls by bucket. Two histograms are merged by adding their numbers, because all
 * have the same buckets.
 */
export type Durations = { [bucket: number]: number }

/** All durations up to this many milliseconds are in bucket 0. No call of a tool is much faster. */
const FIRST_MS = 0.1
/**
 * How much longer the durations of each bucket are than those of the bucket before. With 1.2, the middle of a bucket differs by
 * less than 9.6 % from each duration in it.
 */
const GROWTH = 1.2
/** How many buckets there are. The last one ends at 66 minutes, and no call may take longer than 60. */
export const BUCKETS = 97

const LOG_GROWTH = Math.log(GROWTH)

/** The bucket of a duration. A duration that is no number, such as one of a broken clock, is in the first bucket. */
export function bucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log(ms / FIRST_MS) / LOG_GROWTH))
}

/** The longest duration in a bucket, in milliseconds. */
export function endOfBucketMs(bucket: number): number {
  return FIRST_MS * GROWTH ** bucket
}

export function addDurations(to: Durations, from: Durations): void {
  for (const [bucket, count] of Object.entries(from)) {
    const at = Number(bucket)
    to[at] = (to[at] ?? 0) + count
  }
}

/**
 * The duration that `share` of the calls did not exceed, in milliseconds: 0.5 is the median. It differs by less than 10 % from
 * the true one. Null if there were no calls.
 */
export function quantileMs(durations: Durations, share: number): number | null {
  const buckets = Object.entries(durations).map(([bucket, count]) => [Number(bucket), count] as const)
  const calls = buckets.reduce((sum, [, count]) => sum + count, 0)
  if (calls === 0) return null
  let left = Math.max(1, Math.ceil(share * calls))
  // Object.entries gives whole numbers in ascending order.
  for (const [bucket, count] of buckets) {
    left -= count
    if (left <= 0) return Number(middleMs(bucket).toPrecision(3))
  }
  return null
}

function middleMs(bucket: number): number {
  return bucket === 0 ? FIRST_MS : FIRST_MS * GROWTH ** (bucket - 0.5)
}
