import type { Vocabulary } from './vocabulary.ts'

/** The length of the longest token of o200k, in bytes. Longer pairs are not looked up. */
const TOKEN_BYTES_MAX = 128

/**
 * A number above every position in a text. The product of this number and the highest rank is below 2^53, so one number can
 * contain a rank and a position.
 */
const POSITIONS = 2 ** 32

/** How many pairs are ranked or merged before other work may run. This takes a few milliseconds. */
const STEPS = 4_096

/**
 * Counts the tokens of a word that is not itself a token. `bytes` has one character for each byte. Joins the pair with the lowest
 * rank, the leftmost first, until no pair is a token. A heap finds the next pair, so the time grows with n log n. A search
 * through all pairs would take minutes for 100,000 equal letters. Lets other work run now and then, because a word can have a
 * million bytes.
 */
export function* countMerged(bytes: string, vocabulary: Vocabulary): Generator<undefined, number> {
  const { length } = bytes
  const next = new Int32Array(length + 1)
  const previous = new Int32Array(length + 1)
  const rankAt = new Float64Array(length).fill(Infinity)
  const heap: number[] = []
  let parts = length
  let steps = 0

  function rankPair(at: number): void {
    const middle = next[at] ?? length
    const end = middle < length ? (next[middle] ?? length) : -1
    const rank =
      end < 0 || end - at > TOKEN_BYTES_MAX ? Infinity : (vocabulary.rankOf(bytes, at, end) ?? Infinity)
    rankAt[at] = rank
    if (rank !== Infinity) push(heap, rank * POSITIONS + at)
  }

  for (let at = 0; at <= length; at += 1) {
    next[at] = at + 1
    previous[at] = at - 1
  }
  for (let at = 0; at < length - 1; at += 1) {
    rankPair(at)
    if (++steps % STEPS === 0) yield
  }
  for (let lowest = pop(heap); lowest !== undefined; lowest = pop(heap)) {
    if (++steps % STEPS === 0) yield
    const at = lowest % POSITIONS
    // This heap entry is outdated, because another pair is at this position now.
    if (rankAt[at] !== (lowest - at) / POSITIONS) continue
    const middle = next[at] ?? length
    const end = next[middle] ?? length
    next[at] = end
    if (end <= length) previous[end] = at
    rankAt[middle] = Infinity
    parts -= 1
    rankPair(at)
    const before = previous[at] ?? -1
    if (before >= 0) rankPair(before)
  }
  return parts
}

function push(heap: number[], value: number): void {
  let at = heap.length
  heap.push(value)
  while (at > 0) {
    const parent = (at - 1) >>> 1
    const above = heap[parent] ?? value
    if (above <= value) break
    heap[at] = above
    at = parent
  }
  heap[at] = value
}

function pop(heap: number[]): number | undefined {
  const lowest = heap[0]
  const value = heap.pop()
  if (value === undefined || heap.length === 0) return lowest
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    const leftValue = heap[left] ?? Infinity
    const rightValue = heap[left + 1] ?? Infinity
    const below = Math.min(leftValue, rightValue)
    if (below >= value) break
    heap[at] = below
    at = leftValue <= rightValue ? left : left + 1
  }
  heap[at] = value
  return lowest
}
