/**
 * Many globs for names, as one automaton. `*` matches any characters, and `?` matches one character. The automaton follows all
 * possible positions at once, 32 in each operation. It takes a step for each character of a name and each 32 characters of the
 * globs. The client contains this class too, so it has only what scopes need.
 */
export class NameGlobs {
  /** The positions at which the automaton begins, and those at which it can stay whatever the character is. */
  readonly #start: Int32Array
  readonly #stays: Int32Array
  /**
   * For each character in a glob, the positions before it. `#others` has the positions before a `?`, for all other characters.
   */
  readonly #leads = new Map<string, Int32Array>()
  readonly #others: Int32Array
  readonly #ends: readonly number[]

  constructor(globs: readonly string[]) {
    const words = (globs.reduce((sum, { length }) => sum + length + 1, 0) >>> 5) + 1
    this.#start = new Int32Array(words)
    this.#stays = this.#start.slice()
    this.#others = this.#start.slice()
    let position = 0
    this.#ends = globs.map((glob) => {
      mark(this.#start, position)
      for (const character of glob)
        if (character === '*') mark(this.#stays, position)
        else {
          if (character === '?') mark(this.#others, position)
          const leads = this.#leads.get(character) ?? new Int32Array(words)
          this.#leads.set(character, leads)
          mark(leads, position)
          position += 1
        }
      position += 1
      return position - 1
    })
    for (const leads of this.#leads.values())
      for (const [word, singles] of this.#others.entries()) leads[word] = (leads[word] ?? 0) | singles
  }

  /** The indices of the globs that match the whole name. */
  matching(name: string): readonly number[] {
    let positions = this.#start.slice()
    let next = this.#start.slice()
    for (const character of name) {
      const leads = this.#leads.get(character) ?? this.#others
      let carry = 0
      let isSomewhere = 0
      for (let word = 0; word < next.length; word += 1) {
        const before = positions[word] ?? 0
        const leading = before & (leads[word] ?? 0)
        isSomewhere |= next[word] = (leading << 1) | carry | (before & (this.#stays[word] ?? 0))
        carry = leading >>> 31
      }
      if (isSomewhere === 0) return []
      ;[positions, next] = [next, positions]
    }
    return [...this.#ends.keys()].filter((glob) => {
      const end = this.#ends[glob] ?? 0
      return ((positions[end >>> 5] ?? 0) >>> (end & 31)) & 1
    })
  }
}

function mark(positions: Int32Array, position: number): void {
  const word = position >>> 5
  positions[word] = (positions[word] ?? 0) | (1 << (position & 31))
}
