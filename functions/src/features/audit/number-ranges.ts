type Range = { readonly first: number; readonly last: number }

/** The ranges of some numbers as text, such as `1-3,7`. The numbers must be sorted. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: { first: number; last: number }[] = []
  for (const number of numbers) {
    const open = ranges.at(-1)
    if (open && number === open.last + 1) open.last = number
    else ranges.push({ first: number, last: number })
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

/** The numbers in several texts of `rangesOf`. The time of `has` hardly grows with the number of ranges. */
export class NumberRanges {
  readonly #ranges: Range[] = []
  #isJoined = true

  add(text: string): void {
    for (const range of text.split(',').filter(Boolean)) {
      const [first = 0, last = first] = range.split('-').map(Number)
      this.#ranges.push({ first, last })
    }
    this.#isJoined = false
  }

  has(number: number): boolean {
    if (!this.#isJoined) this.#join()
    let from = 0
    let to = this.#ranges.length
    while (from < to) {
      const middle = (from + to) >>> 1
      const { first = 0, last = 0 } = this.#ranges[middle] ?? {}
      if (number < first) to = middle
      else if (number > last) from = middle + 1
      else return true
    }
    return false
  }

  /** Sorts the ranges, and joins ranges that overlap. Drops a range in which a text is no number. */
  #join(): void {
    const sorted = this.#ranges.filter(({ first, last }) => first <= last).sort((a, b) => a.first - b.first)
    this.#ranges.length = 0
    for (const range of sorted) {
      const before = this.#ranges.at(-1)
      if (!before || range.first > before.last) this.#ranges.push(range)
      else if (range.last > before.last) this.#ranges.splice(-1, 1, { first: before.first, last: range.last })
    }
    this.#isJoined = true
  }
}
