import type { GlobKind } from './glob.ts'

/** A set of positions in globs, as bits. Position n is bit n % 32 of the word n / 32. */
export type Positions = Int32Array

const SLASH = 0x2f
const ASCII_END = 0x80

/**
 * Several globs as one automaton. It follows all possible positions at once, 32 in each operation. So no glob and no text takes
 * long. A position is before a literal character or a `?` of a glob, or at the end of a glob. A wildcard `*` has no position of
 * its own. It means that the automaton can stay at the next position. The positions of the globs follow each other.
 */
export class GlobAutomaton {
  /** The number of positions. For each glob they are its characters, and one more for its end. */
  readonly #length: number
  readonly #ends: readonly number[]
  /**
   * For each character in a glob, the positions before this character. A `?` counts as every character, so it is in all entries
   * and in `#others`. In a path it is not in the entry of the slash.
   */
  readonly #named = new Map<number, Positions>()
  readonly #others: Positions
  /** The entries of `#named` for ASCII characters, in an array, because most characters are ASCII. */
  readonly #ascii: Positions[] = []
  /** The positions at which the automaton can stay: if the character is a `/`, and if it is any other one. */
  readonly #staysAtSlash: Positions
  readonly #stays: Positions
  /**
   * The positions before a `**` whose slash belongs to it. It may stand for no folder. So a text that leads to such a position
   * also leads to the position after the slash.
   */
  readonly #folders: Positions
  readonly start: Positions

  constructor(globs: string | readonly string[], kind: GlobKind) {
    const each = [globs].flat().map((glob) => tokensOf(glob, kind))
    let length = 0
    const starts = each.map((tokens) => {
      const start = length
      length += tokens.filter((token) => !token.startsWith('*') || isFolder(token)).length + 1
      return start
    })
    this.#length = length
    this.#ends = each.map((_tokens, index) => (starts[index + 1] ?? length) - 1)
    this.#others = this.#nowhere()
    this.#staysAtSlash = this.#nowhere()
    this.#stays = this.#nowhere()
    this.#folders = this.#nowhere()
    this.start = this.#nowhere()
    for (const [index, tokens] of each.entries()) this.#add(tokens, kind, starts[index] ?? 0)
    // In a path, `?` does not match a slash. So the slash must have its own entry.
    if (kind === 'path' && !this.#named.has(SLASH)) this.#named.set(SLASH, this.#nowhere())
    for (const [code, positions] of this.#named)
      for (const [word, singles] of this.#others.entries())
        if (kind !== 'path' || code !== SLASH) positions[word] = (positions[word] ?? 0) | singles
    for (const [code, positions] of this.#named) if (code < ASCII_END) this.#ascii[code] = positions
  }

  /** The number of 32-bit words for a set of positions. Following one character takes as many steps. */
  get words(): number {
    return this.start.length
  }

  /** All characters that are in a glob. The automaton treats all other characters in the same way. */
  get characters(): readonly string[] {
    return Array.from(this.#named.keys(), (code) => String.fromCodePoint(code))
  }

  /** True if the characters so far match the whole glob with this index. */
  isEnd(positions: Positions, glob = 0): boolean {
    const end = this.#ends[glob] ?? 0
    return (((positions[end >>> 5] ?? 0) >>> (end & 31)) & 1) === 1
  }

  matches(text: string): boolean {
    return this.isEnd(this.after(this.start, text))
  }

  /** The positions to which a text leads from the positions `from`. */
  after(from: Positions, text: string): Positions {
    let positions = from
    let [next, spare] = [this.#nowhere(), this.#nowhere()]
    for (let index = 0; index < text.length; index += 1) {
      const code = text.codePointAt(index) ?? 0
      if (code > 0xffff) index += 1
      const leadsOn = this.#follow(positions, code, next)
      positions = next
      if (!leadsOn) break
      next = spare
      spare = positions
    }
    return positions
  }

  /** Writes to `reached` the positions to which a character leads from `positions`. Returns false if there are none. */
  #follow(positions: Positions, code: number, reached: Positions): boolean {
    const leads = (code < ASCII_END ? this.#ascii[code] : this.#named.get(code)) ?? this.#others
    const stays = code === SLASH ? this.#staysAtSlash : this.#stays
    let isSomewhere = 0
    // When the bits are shifted, the highest bit of a word moves into the next word.
    let moved = 0
    let skipped = 0
    for (let word = 0; word < reached.length; word += 1) {
      const before = positions[word] ?? 0
      const leading = before & (leads[word] ?? 0)
      const arrived = (leading << 1) | moved
      const atFolder = arrived & (this.#folders[word] ?? 0)
      const after = arrived | (atFolder << 1) | skipped | (before & (stays[word] ?? 0))
      moved = leading >>> 31
      skipped = atFolder >>> 31
      reached[word] = after
      isSomewhere |= after
    }
    return isSomewhere !== 0
  }

  /** Adds the positions of one glob. */
  #add(tokens: readonly string[], kind: GlobKind, start: number): void {
    let position = start
    for (const token of tokens) {
      if (token.startsWith('*')) {
        mark(this.#stays, position)
        if (kind !== 'path' || token !== '*') mark(this.#staysAtSlash, position)
        if (!isFolder(token)) continue
        mark(this.#folders, position)
      }
      if (token === '?') mark(this.#others, position)
      else this.#name(isFolder(token) ? SLASH : codeOf(token), position)
      position += 1
    }
    mark(this.start, start)
    if (tokens[0] !== undefined && isFolder(tokens[0])) mark(this.start, start + 1)
  }

  #name(code: number, position: number): void {
    const positions = this.#named.get(code) ?? this.#nowhere()
    mark(positions, position)
    this.#named.set(code, positions)
  }

  #nowhere(): Positions {
    return new Int32Array((this.#length + 31) >>> 5)
  }
}

/**
 * Splits a glob into characters and runs of `*`. In a path, a run of `*` and its slash are one token, which stands for folders.
 * Several such tokens in a row count as one.
 */
function tokensOf(glob: string, kind: GlobKind): readonly string[] {
  return glob.match(kind === 'path' ? /(?<=^|\/)(?:\*{2,}\/)+|\*+|[^*]/gsu : /\*+|[^*]/gsu) ?? []
}

function isFolder(token: string): boolean {
  return token.length > 1 && token.endsWith('/')
}

function mark(positions: Positions, position: number): void {
  const word = position >>> 5
  positions[word] = (positions[word] ?? 0) | (1 << (position & 31))
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}
