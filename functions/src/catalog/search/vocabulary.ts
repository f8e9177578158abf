import { slipsBetween } from '../schemas/near-miss.ts'

/**
 * The fewest letters of a word that also finds words that begin with it. Too many unrelated words begin with a shorter word:
 * `car` and `carbon`.
 */
const PART_MIN = 4
/** The fewest letters of a word for which one typing error is allowed, and of a word for which two are allowed. */
const SLIP_MIN = 5
const TWO_SLIPS_MIN = 8
const PREFIX = 3

/**
 * The terms of an index, grouped by their first letters. With these groups, words that begin like another word, or are nearly the
 * same, are found fast.
 */
export class Vocabulary {
  readonly #byPrefix = new Map<string, string[]>()
  readonly #byLength = new Map<string, string[]>()
  readonly #all: { has(term: string): boolean }

  /** `all` tells which terms exist. Each of these terms must also be passed to `add`. */
  constructor(all: { has(term: string): boolean }) {
    this.#all = all
  }

  add(term: string): void {
    if (!isWord(term) || term.length < PART_MIN) return
    put(this.#byPrefix, term.slice(0, PREFIX), term)
    put(this.#byLength, lengthKey(term, term.length), term)
  }

  /** The longer terms that begin with this term: `rainfall` for `rain`. */
  beginningWith(term: string): readonly string[] {
    if (!isWord(term) || term.length < PART_MIN) return []
    const near = this.#byPrefix.get(term.slice(0, PREFIX)) ?? []
    // oxlint-disable-next-line toolrack/linear-texts -- A term has at most 40 characters.
    return near.filter((other) => other.length > term.length && other.startsWith(term))
  }

  /** The shorter terms with which this term begins: `rain` for `rainfall`. */
  beginningOf(term: string): readonly string[] {
    if (!isWord(term)) return []
    const parts = Array.from({ length: Math.max(0, term.length - PART_MIN) }, (_, at) =>
      term.slice(0, PART_MIN + at),
    )
    return parts.filter((part) => this.#all.has(part))
  }

  /**
   * The terms that differ from this term in one letter, or from a long term in two letters. Only terms with the same first letter
   * are found.
   */
  nearly(term: string): readonly string[] {
    if (!isWord(term) || term.length < SLIP_MIN) return []
    const slips = term.length < TWO_SLIPS_MIN ? 1 : 2
    const found: string[] = []
    for (let length = term.length - slips; length <= term.length + slips; length += 1)
      for (const other of this.#byLength.get(lengthKey(term, length)) ?? [])
        if (slipsBetween(term, other, slips).slips <= slips) found.push(other)
    return found
  }
}

function isWord(term: string): boolean {
  return /^[a-z]+$/.test(term)
}

function lengthKey(term: string, length: number): string {
  return `${term[0]}${length}`
}

function put(map: Map<string, string[]>, key: string, term: string): void {
  const known = map.get(key)
  if (known) known.push(term)
  else map.set(key, [term])
}
