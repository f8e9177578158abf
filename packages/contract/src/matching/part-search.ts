import { MarkedAncestors } from './marked-ancestors.ts'
import { Needles, START } from './needles.ts'

/**
 * Parts that a text must contain one after the other, without overlapping. `after` is how many code units at the end of the text
 * may not belong to a part.
 */
type Sequence = { readonly parts: readonly number[]; readonly after: number }

/**
 * Searches a text for many sequences of literal parts in one pass. Each sequence waits for one part at a time, and takes the
 * first occurrence of it. Only parts for which a sequence waits are compared at each place, so the work is linear in the text and
 * in the parts.
 */
export class PartSearch {
  readonly #sequences: readonly Sequence[]
  readonly #needles: Needles
  readonly #awaited: MarkedAncestors
  /**
   * For each part, a linked list of the sequences that wait for it. `#first` is the first sequence of each part, and `#next` is
   * the sequence after each sequence.
   */
  readonly #first: Int32Array
  readonly #next: Int32Array
  /**
   * For each sequence, the index of the part for which it waits, and the first position in the text at which this part may begin.
   */
  readonly #at: Int32Array
  readonly #from: Int32Array
  #steps = 0

  constructor(sequences: readonly { readonly parts: readonly string[]; readonly after: number }[]) {
    const numbers = new Map<string, number>()
    for (const part of sequences.flatMap(({ parts }) => parts))
      if (!numbers.has(part)) numbers.set(part, numbers.size)
    this.#sequences = sequences.map(({ parts, after }) => ({
      parts: parts.map((part) => numbers.get(part) ?? 0),
      after,
    }))
    this.#needles = new Needles([...numbers.keys()])
    this.#awaited = new MarkedAncestors(
      Int32Array.from(numbers.values(), (needle) => this.#needles.endingIn(needle)),
    )
    this.#first = new Int32Array(numbers.size).fill(-1)
    this.#next = new Int32Array(sequences.length)
    this.#at = new Int32Array(sequences.length)
    this.#from = new Int32Array(sequences.length)
  }

  /** The number of comparisons so far, for tests. */
  get steps(): number {
    return this.#steps + this.#needles.steps + this.#awaited.steps
  }

  /** Those of the given sequences that the text contains. The parts of a sequence may begin only at `from(sequence)` or later. */
  found(text: string, among: readonly number[], from: (sequence: number) => number): readonly number[] {
    const found: number[] = []
    for (const sequence of among) {
      this.#steps += 1
      this.#at[sequence] = 0
      this.#from[sequence] = from(sequence)
      this.#await(sequence, found)
    }
    let state = START
    let waiting = among.length - found.length
    for (let index = 0; waiting > 0 && index < text.length; index += 1) {
      state = this.#needles.next(state, text.charCodeAt(index))
      const longest = this.#needles.endingAt(state)
      if (longest === -1) continue
      for (let needle = this.#awaited.nearest(longest); needle !== -1; needle = this.#awaited.above(needle))
        waiting -= this.#take(needle, index + 1, text.length, found)
    }
    if (waiting > 0) for (const sequence of among) this.#forget(sequence)
    return found
  }

  /**
   * Makes the sequence wait for its current part, and returns 1. If the sequence has no more parts, it is found. Then the result
   * is 0.
   */
  #await(sequence: number, found: number[]): number {
    const needle = this.#sequences[sequence]?.parts[this.#at[sequence] ?? 0]
    if (needle === undefined) {
      found.push(sequence)
      return 0
    }
    const first = this.#first[needle] ?? -1
    if (first === -1) this.#awaited.mark(needle)
    this.#next[sequence] = first
    this.#first[needle] = sequence
    return 1
  }

  /** Handles a part that was found and ends before `end`. Returns how many sequences no longer wait. */
  #take(needle: number, end: number, length: number, found: number[]): number {
    const start = end - this.#needles.lengthOf(needle)
    let gone = 0
    let sequence = this.#first[needle] ?? -1
    this.#first[needle] = -1
    this.#awaited.unmark(needle)
    while (sequence !== -1) {
      this.#steps += 1
      const next = this.#next[sequence] ?? -1
      if (end > length - (this.#sequences[sequence]?.after ?? 0)) {
        // All later ends of this part are too close to the end of the text, so the sequence is never found.
        this.#at[sequence] = -1
        gone += 1
      } else {
        // If the part overlaps the part before it, the sequence waits for another occurrence of it.
        if (start >= (this.#from[sequence] ?? 0)) {
          this.#at[sequence] = (this.#at[sequence] ?? 0) + 1
          this.#from[sequence] = end
        }
        gone += 1 - this.#await(sequence, found)
      }
      sequence = next
    }
    return gone
  }

  /** Removes a sequence that is still waiting at the end of the text. */
  #forget(sequence: number): void {
    const needle = this.#sequences[sequence]?.parts[this.#at[sequence] ?? 0]
    if (needle === undefined) return
    this.#first[needle] = -1
    this.#awaited.unmark(needle)
  }
}
