/** The state that is passed to `Needles.next` with the first code unit of a text. */
export const START = 0

/**
 * Flags of a node of the trie: it has a first child, which is the next node in the arrays, and it has other children, which are
 * in a map.
 */
const HAS_FIRST = 1
const HAS_OTHERS = 2

/** The code units of needles that are read, and the states that are linked, before other work may run. This takes about 3 ms. */
const PIECE = 32 * 1024

/**
 * Searches a text for many literal texts (needles) in one pass (Aho-Corasick). The work is linear in the code units of the text
 * and of the needles, whatever they contain. The state of the search is a number, so the text may arrive in parts.
 *
 * A state stands for the longest end of the text that is the beginning of a needle.
 */
export class Needles {
  /** The number of transitions that were made. A test compares it with the lengths of the text and the needles. */
  steps = 0
  readonly #units: Uint16Array
  readonly #kinds: Uint8Array
  readonly #others = new Map<number, Map<number, number>>()
  readonly #depths: Int32Array
  /** For each state, the state of the next shorter end of the text that is also the beginning of a needle. */
  readonly #fails: Int32Array
  /** For each state, one more than the index of the longest needle with which it ends. 0 if it ends with none. */
  readonly #longest: Int32Array
  readonly #states: Int32Array
  readonly #lengths: Int32Array
  #used = 1

  /** The same as the constructor, but as work that yields wherever other work may run. */
  static *inPieces(needles: readonly string[]): Generator<undefined, Needles, undefined> {
    const made = new Needles(needles, false)
    yield* made.#build(needles)
    return made
  }

  /** No needle may be empty, and no two needles may be equal. With `isBuilt` false, `inPieces` builds the trie. */
  constructor(needles: readonly string[], isBuilt = true) {
    const size = needles.reduce((sum, { length }) => sum + length, 1)
    this.#units = new Uint16Array(size)
    this.#kinds = new Uint8Array(size)
    this.#depths = new Int32Array(size)
    this.#fails = new Int32Array(size)
    this.#longest = new Int32Array(size)
    this.#lengths = Int32Array.from(needles, ({ length }) => length)
    this.#states = new Int32Array(needles.length)
    if (!isBuilt) return
    const pieces = this.#build(needles)
    while (!pieces.next().done);
  }

  get count(): number {
    return this.#lengths.length
  }

  /** The state after one more UTF-16 code unit of the text. */
  next(state: number, unit: number): number {
    for (let at = state; ; at = this.#fails[at] ?? START) {
      this.steps += 1
      const child = this.#child(at, unit)
      if (child !== START || at === START) return child
    }
  }

  /** The index of the longest needle with which the text ends now, or -1. */
  endingAt(state: number): number {
    return (this.#longest[state] ?? 0) - 1
  }

  /** True if the end of the text for which the state stands is a whole needle. */
  endsAt(state: number): boolean {
    return this.lengthOf(this.endingAt(state)) === this.open(state)
  }

  /** The index of the longest other needle with which this needle ends, or -1. */
  endingIn(needle: number): number {
    return this.endingAt(this.#fails[this.#states[needle] ?? START] ?? START)
  }

  /** How many code units at the end of the text may be the beginning of a needle. */
  open(state: number): number {
    return this.#depths[state] ?? 0
  }

  lengthOf(needle: number): number {
    return this.#lengths[needle] ?? 0
  }

  *#build(needles: readonly string[]): Generator<undefined, void, undefined> {
    for (const [number, needle] of needles.entries()) {
      let state = START
      for (let from = 0; from < needle.length; from += PIECE) {
        state = this.#insert(state, needle, from, Math.min(from + PIECE, needle.length))
        yield undefined
      }
      this.#longest[state] = number + 1
      this.#states[number] = state
    }
    yield* this.#join()
  }

  /** Adds the units from `from` to `end` of a needle to the trie, below a state. Returns the state after them. */
  #insert(below: number, needle: string, from: number, end: number): number {
    let state = below
    for (let index = from; index < end; index += 1) {
      const unit = needle.charCodeAt(index)
      const child = this.#child(state, unit)
      state = child === START ? this.#newChild(state, unit, index + 1) : child
    }
    return state
  }

  #newChild(state: number, unit: number, depth: number): number {
    const child = this.#used
    this.#used += 1
    this.#units[child] = unit
    this.#depths[child] = depth
    this.#addChild(state, unit, child)
    return child
  }

  #addChild(state: number, unit: number, child: number): void {
    const kind = this.#kinds[state] ?? 0
    if (child === state + 1) {
      this.#kinds[state] = kind | HAS_FIRST
      return
    }
    const others = this.#others.get(state)
    if (others) others.set(unit, child)
    else this.#others.set(state, new Map([[unit, child]]))
    this.#kinds[state] = kind | HAS_OTHERS
  }

  /** The child of a state for the next code unit, or START if there is none. */
  #child(state: number, unit: number): number {
    const kind = this.#kinds[state] ?? 0
    if ((kind & HAS_FIRST) !== 0 && this.#units[state + 1] === unit) return state + 1
    return (kind & HAS_OTHERS) === 0 ? START : (this.#others.get(state)?.get(unit) ?? START)
  }

  /** Links each state with the state of its next shorter end. States with fewer code units are linked first. */
  *#join(): Generator<undefined, void, undefined> {
    const queue = new Int32Array(this.#used)
    let length = 1
    for (let at = 0; at < length; at += 1) {
      if (at % PIECE === PIECE - 1) yield undefined
      const state = queue[at] ?? START
      if (((this.#kinds[state] ?? 0) & HAS_FIRST) !== 0) {
        this.#joinChild(state, this.#units[state + 1] ?? 0, state + 1)
        queue[length] = state + 1
        length += 1
      }
      for (const [unit, child] of this.#others.get(state) ?? []) {
        this.#joinChild(state, unit, child)
        queue[length] = child
        length += 1
      }
    }
  }

  #joinChild(state: number, unit: number, child: number): void {
    if (state === START) return
    const fail = this.next(this.#fails[state] ?? START, unit)
    this.#fails[child] = fail
    if (this.#longest[child] === 0) this.#longest[child] = this.#longest[fail] ?? 0
  }
}
