import { MarkedAncestors } from './marked-ancestors.ts'
import { Needles, START } from './needles.ts'

/** Parts of a text that must follow each other without overlapping, and code units at its end that belong to none of them. */
type Sequence = { readonly parts: readonly number[]; readonly after: number }

/**
 * Looks for many sequences of literal parts in one pass over a text. Each sequence awaits one part at a time, and takes it as early
 * as possible. At each place, only awaited parts are looked at, so the work is linear in the text and the parts.
 */
export class PartSearch {
  readonly #sequences: readonly Sequence[]
  readonly #needles: Needles
  readonly #awaited: MarkedAncestors
  /** The sequences that await each part, as a list: its first sequence, and after each sequence the next. */
  readonly #first: Int32Array
  readonly #next: Int32Array
  /** For each sequence the index of the part that it awaits, and where in the text this part may begin. */
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

  /** Everything that was compared so far, for tests. */
  get steps(): number {
    return this.#steps + this.#needles.steps + this.#awaited.steps
  }

  /** Those of the given sequences that the text has. No part begins before `from(sequence)`. */
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

  /** Lets the sequence await its present part. Returns 1, or 0 if it has no more parts, and so was found. */
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

  /** A part ends before `end`. Returns how many sequences no longer wait. */
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
        // The part can only end later, so it is never found.
        this.#at[sequence] = -1
        gone += 1
      } else {
        // A part that begins within the part before it is awaited again.
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

  /** The text has ended. */
  #forget(sequence: number): void {
    const needle = this.#sequences[sequence]?.parts[this.#at[sequence] ?? 0]
    if (needle === undefined) return
    this.#first[needle] = -1
    this.#awaited.unmark(needle)
  }
}
