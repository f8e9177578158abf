import type { CountTokens } from './token-counter.ts'

/**
 * The two characters with which every fragment begins. A letter follows them. A fragment is the JSON text of one tool. The
 * encoder splits a text before it joins characters to tokens, and it always splits between these two characters and the letter.
 * So the tokens of a list are the sum of the tokens between these places.
 */
export const FRAGMENT_START = '{"'

/** The text that follows a fragment in a list, up to the next place where the encoder splits. */
const NEXT = `,${FRAGMENT_START}`

/**
 * Matches the end of a fragment, from the last place where one of these marks follows a letter or a digit. The encoder always
 * splits there, and every fragment has such a place.
 */
const LAST_SPLIT = /[A-Za-z0-9](["}\]][^A-Za-z0-9]*)$/

/**
 * The longest text whose number of tokens is remembered, in UTF-16 code units. Such a text is the end of a fragment, mostly a few
 * brackets.
 */
const REMEMBERED_LENGTH_MAX = 256
/** The most texts whose numbers of tokens are remembered. This limits the memory for a list that is being made. */
const REMEMBERED_TEXTS_MAX = 1_000

/** The texts around the fragments of a list. `open` ends with the first two characters of the first fragment. */
export type Joint = {
  readonly open: string
  readonly close: string
  /** The list without any fragment. */
  readonly empty: string
}

/**
 * The data for counting a fragment in a list: the tokens that it takes if another fragment follows, and the texts that decide how
 * many tokens it takes as the last one.
 */
export type CountedFragment = {
  /** The tokens of `fragmentEnd`. */
  readonly tokens: number
  /** The end of the fragment, as `tailOf` returns it. */
  readonly tail: string
  /** The text that replaces the last brace of the fragment, such as `,"workflowName":"w"}`. Usually there is none. */
  readonly ending?: string | undefined
}

/**
 * The text that is counted for a fragment. It has the beginning of the next fragment instead of the fragment's own first two
 * characters.
 */
export function fragmentEnd(fragment: string): string {
  return fragment.slice(FRAGMENT_START.length) + NEXT
}

/** The end of a fragment, from the last place where the encoder certainly splits. It is usually a few brackets. */
export function tailOf(fragment: string): string {
  // The end of the text is searched first, because the place is nearly always there, and the fragment may be long.
  const found = LAST_SPLIT.exec(fragment.slice(-REMEMBERED_LENGTH_MAX)) ?? LAST_SPLIT.exec(fragment)
  return found?.[1] ?? fragment.slice(FRAGMENT_START.length)
}

/** Computes the number of tokens of a list from those of its fragments. The result equals the count of the whole text. */
export class JoinedTokens {
  readonly #count: CountTokens
  readonly #joint: Joint
  readonly #known = new Map<string, number>()

  constructor(count: CountTokens, joint: Joint) {
    this.#count = count
    this.#joint = joint
  }

  /** The tokens of a list with these fragments. */
  of(fragments: readonly CountedFragment[]): number {
    const last = fragments.at(-1)
    if (!last) return this.#short(this.#joint.empty)
    const sum = fragments.reduce((tokens, one) => tokens + this.#next(one), this.open)
    return sum - this.#next(last) + this.#last(last)
  }

  /** The tokens before the first fragment. */
  get open(): number {
    return this.#short(this.#joint.open)
  }

  /** The most tokens that the fragment adds to a list, wherever it is in the list. */
  most(fragment: CountedFragment): number {
    return Math.max(this.#next(fragment), this.#last(fragment))
  }

  #next({ tokens, tail, ending }: CountedFragment): number {
    return ending === undefined ? tokens : this.#ended(tokens, tail, ending + NEXT)
  }

  #last({ tokens, tail, ending }: CountedFragment): number {
    const { close } = this.#joint
    if (ending !== undefined) return this.#ended(tokens, tail, ending + close)
    return tokens - this.#short(tail + NEXT) + this.#short(tail + close)
  }

  /**
   * The tokens of a fragment whose last brace is replaced by `ending`. The ending begins with a comma, a quote and a letter, and
   * the encoder splits before the letter.
   */
  #ended(tokens: number, tail: string, ending: string): number {
    const before = this.#short(tail.slice(0, -1) + ending.slice(0, 2))
    return tokens - this.#short(tail + NEXT) + before + this.#short(ending.slice(2))
  }

  #short(text: string): number {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const tokens = this.#count(text)
    if (text.length <= REMEMBERED_LENGTH_MAX && this.#known.size < REMEMBERED_TEXTS_MAX)
      this.#known.set(text, tokens)
    return tokens
  }
}
