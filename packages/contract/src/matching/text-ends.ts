import { Needles, START } from './needles.ts'

/** What a text must start and end with, and how many UTF-16 code units it must have at least. */
export type TextEnd = { readonly first: string; readonly last: string; readonly lengthMin: number }

/** Many pairs of a start and an end. A text is compared with all starts at once, and with all ends at once. */
export class TextEnds {
  readonly #ends: readonly TextEnd[]
  /** Undefined if no pair has a start, or no pair has an end. This is the case in many sets. */
  readonly #firsts: Needles | undefined
  readonly #lasts: Needles | undefined
  /** The indices of the pairs, grouped by the number of their start. The last group has the pairs that have no start. */
  readonly #byFirst: number[][]
  /** For each pair, the number of its end, or -1 if it has none. */
  readonly #lastOf: readonly number[]
  /** For each end, the number of the last text that had this end. */
  readonly #had: Int32Array
  #texts = 0
  #steps = 0

  constructor(ends: readonly TextEnd[]) {
    const firsts = numbered(ends.map(({ first }) => first))
    const lasts = numbered(ends.map(({ last }) => reversed(last)))
    this.#ends = ends
    this.#firsts = firsts.size > 0 ? new Needles([...firsts.keys()]) : undefined
    this.#lasts = lasts.size > 0 ? new Needles([...lasts.keys()]) : undefined
    this.#byFirst = Array.from({ length: firsts.size + 1 }, () => [])
    for (const [index, { first }] of ends.entries())
      this.#byFirst[firsts.get(first) ?? firsts.size]?.push(index)
    this.#lastOf = ends.map(({ last }) => lasts.get(reversed(last)) ?? -1)
    this.#had = new Int32Array(lasts.size)
  }

  /** The number of comparisons that were made, for tests. */
  get steps(): number {
    return this.#steps + (this.#firsts?.steps ?? 0) + (this.#lasts?.steps ?? 0)
  }

  /** The indices of the pairs that fit the text, in no order. */
  fitting(text: string): readonly number[] {
    this.#texts = (this.#texts + 1) | 0
    const { length } = text
    if (this.#lasts) this.#noteLasts(this.#lasts, text)
    const found: number[] = []
    this.#collect(this.#byFirst.length - 1, length, found)
    if (!this.#firsts) return found
    let state = START
    for (let at = 0; at < length; at += 1) {
      state = this.#firsts.next(state, text.charCodeAt(at))
      // From this position on, the beginning of the text can no longer be the beginning of a start.
      if (this.#firsts.open(state) <= at) break
      if (this.#firsts.endsAt(state)) this.#collect(this.#firsts.endingAt(state), length, found)
    }
    return found
  }

  /** Marks those ends with which the text ends. The text is read backward from its end. */
  #noteLasts(lasts: Needles, text: string): void {
    let state = START
    for (let at = 0; at < text.length; at += 1) {
      state = lasts.next(state, text.charCodeAt(text.length - 1 - at))
      if (lasts.open(state) <= at) return
      if (lasts.endsAt(state)) this.#had[lasts.endingAt(state)] = this.#texts
    }
  }

  #collect(first: number, length: number, found: number[]): void {
    for (const index of this.#byFirst[first] ?? []) {
      this.#steps += 1
      const last = this.#lastOf[index] ?? -1
      if (last !== -1 && this.#had[last] !== this.#texts) continue
      if (length >= (this.#ends[index]?.lengthMin ?? 0)) found.push(index)
    }
  }
}

/** Gives each different text a number, except the empty text. */
function numbered(texts: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>()
  for (const text of texts) if (text !== '' && !numbers.has(text)) numbers.set(text, numbers.size)
  return numbers
}

/** The UTF-16 code units of a text in reverse order. */
function reversed(text: string): string {
  return text.split('').toReversed().join('')
}
