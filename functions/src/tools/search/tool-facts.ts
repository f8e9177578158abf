import { hashOf, isTelling, phrasesIn, splitWords, termsOf } from './words.ts'

/** How much two tools must have in common to be twins: this share of all the words that either has. */
const COMMON = 0.5
/** A shorter description, such as "Calls the API", may be that of many different tools. */
const DESCRIPTION_MIN = 3
/** Hashes of each kind that are kept, so that a comparison has a bound. Nearly all names and descriptions are shorter. */
const HASHES_MAX = 64

/** Where the hashes of the description and those of the phrases begin. Those of the name stand before them. */
const [FAMILY, CONTENT, DESCRIPTION, PHRASES, NAME] = [0, 1, 2, 3, 4]

/**
 * What an index knows of a tool besides its terms: numbers, all in one array, because a catalog may have 100,000 tools. They depend on
 * the tool alone, so what is found by them tells nothing of hidden tools.
 */
export class ToolFacts {
  readonly #numbers: Uint32Array

  /** `described` are the words of the description. */
  constructor(name: string, described: readonly string[], argumentNames: readonly string[]) {
    const bare = bareWords(name)
    const names = hashes(termsOf(bare))
    const telling = termsOf(described.filter(isTelling))
    const description = hashes(telling)
    const content = hashOf(JSON.stringify([telling, argumentNames.toSorted()]))
    const phrases = NAME + names.length + description.length
    this.#numbers = Uint32Array.of(
      hashOf(bare.join(' ')),
      description.length < DESCRIPTION_MIN ? 0 : content,
      NAME + names.length,
      phrases,
      ...names,
      ...description,
      ...phrasesIn(described).slice(0, HASHES_MAX),
    )
  }

  get bytes(): number {
    return this.#numbers.byteLength
  }

  /** A hash of the name without numbers and without a suffix that has one: the same for `get_weather` and `get_weather_2`. */
  get family(): number {
    return this.#at(FAMILY)
  }

  /** A hash of the description and the names of the arguments. 0 for a description that says too little. */
  get content(): number {
    return this.#at(CONTENT)
  }

  /**
   * True if two tools do the same as far as their definitions say: names that differ only in numbers, with descriptions that have half
   * of their words in common; or the same description and arguments, with half of the words of their names in common.
   */
  isTwinOf(other: ToolFacts): boolean {
    if (this.family === other.family) return share(this.#description, other.#description) >= COMMON
    return this.content !== 0 && this.content === other.content && share(this.#name, other.#name) >= COMMON
  }

  /** How many of these pairs of neighbouring words the description has. */
  commonPhrases(phrases: ReadonlySet<number>): number {
    let common = 0
    for (let at = this.#at(PHRASES); at < this.#numbers.length; at += 1)
      if (phrases.has(this.#at(at))) common += 1
    return common
  }

  #at(index: number): number {
    return this.#numbers[index] ?? 0
  }

  /** Hashes of the words of the name, and of the telling words of the description, in ascending order. */
  get #name(): Uint32Array {
    return this.#numbers.subarray(NAME, this.#at(DESCRIPTION))
  }

  get #description(): Uint32Array {
    return this.#numbers.subarray(this.#at(DESCRIPTION), this.#at(PHRASES))
  }
}

/** The share of the numbers in two ascending lists that both have. 0 if there are none. */
function share(a: Uint32Array, b: Uint32Array): number {
  let common = 0
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [one = 0, other = 0] = [a[i], b[j]]
    if (one === other) common += 1
    if (one <= other) i += 1
    if (other <= one) j += 1
  }
  return common === 0 ? 0 : common / (a.length + b.length - common)
}

function bareWords(name: string): readonly string[] {
  const words = splitWords(name)
  const last = words.at(-1) ?? ''
  const whole = words.length > 1 && /\p{N}/u.test(last) ? words.slice(0, -1) : words
  return whole.map((word) => word.replace(/\p{N}{1,40}$/u, '')).filter((word) => word !== '')
}

/** In ascending order, so that two lists are compared in one pass. */
function hashes(terms: readonly string[]): Uint32Array {
  return Uint32Array.from(new Set(terms.slice(0, HASHES_MAX).map(hashOf))).sort()
}
