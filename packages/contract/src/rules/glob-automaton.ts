import type { GlobKind } from './glob.ts'

/** The positions in a glob that some characters lead to: position n is bit n % 32 of word n / 32. */
export type Positions = Int32Array

const SLASH = 0x2f

/**
 * A glob as an automaton. All possible positions are followed at once, 32 in each operation, so that no glob and no text take long.
 * A position is before a character that the glob names. Wildcards have no positions: they are what happens at those of others.
 */
export class GlobAutomaton {
  readonly #length: number
  /** Where each character that the glob names leads on. A `?` is in all of them, and in `#others`; in a path not in that of the slash. */
  readonly #named: Positions[] = []
  readonly #others: Positions
  /** Where the automaton can stay: at a `/`, and at any other character. */
  readonly #staysAtSlash: Positions
  readonly #stays: Positions
  /** Where `**` and its slash may be no folder. Who arrives there has also arrived behind the slash. */
  readonly #folders: Positions
  readonly start: Positions

  constructor(glob: string, kind: GlobKind) {
    const tokens = tokensOf(glob, kind)
    this.#length = tokens.filter((token) => !token.startsWith('*') || isFolder(token)).length
    this.#others = this.#nowhere()
    this.#staysAtSlash = this.#nowhere()
    this.#stays = this.#nowhere()
    this.#folders = this.#nowhere()
    const singles: number[] = []
    let position = 0
    for (const token of tokens) {
      if (token.startsWith('*')) {
        mark(this.#stays, position)
        if (kind !== 'path' || token !== '*') mark(this.#staysAtSlash, position)
        if (!isFolder(token)) continue
        mark(this.#folders, position)
      }
      if (token === '?') singles.push(position)
      else this.#name(isFolder(token) ? SLASH : codeOf(token), position)
      position += 1
    }
    // In a path, `?` is no slash. So the slash must not be one of the others.
    if (kind === 'path' && singles.length > 0) this.#named[SLASH] ??= this.#nowhere()
    for (const single of singles) {
      mark(this.#others, single)
      this.#named.forEach((positions, code) => {
        if (kind !== 'path' || code !== SLASH) mark(positions, single)
      })
    }
    this.start = this.#nowhere()
    mark(this.start, 0)
    if ((this.#folders[0] ?? 0) & 1) mark(this.start, 1)
  }

  /** Every character that the glob names. All others are the same to it. */
  get characters(): readonly string[] {
    return Object.keys(this.#named).map((code) => String.fromCodePoint(Number(code)))
  }

  after(positions: Positions, character: string): Positions {
    const reached = this.#nowhere()
    this.#follow(positions, codeOf(character), reached)
    return reached
  }

  /** True if the characters so far match the whole glob. */
  isEnd(positions: Positions): boolean {
    return (((positions[this.#length >>> 5] ?? 0) >>> (this.#length & 31)) & 1) === 1
  }

  matches(text: string): boolean {
    let positions = this.start
    let spare = this.#nowhere()
    let next = this.#nowhere()
    for (let index = 0; index < text.length; index += 1) {
      const code = text.codePointAt(index) ?? 0
      if (code > 0xffff) index += 1
      if (!this.#follow(positions, code, next)) return false
      positions = next
      next = spare
      spare = positions
    }
    return this.isEnd(positions)
  }

  /** Writes to `reached` where a character leads from these positions. False if it leads nowhere. */
  #follow(positions: Positions, code: number, reached: Positions): boolean {
    const leads = this.#named[code] ?? this.#others
    const stays = code === SLASH ? this.#staysAtSlash : this.#stays
    let isSomewhere = 0
    // The highest bit of a word moves into the next word.
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

  #name(code: number, position: number): void {
    const positions = this.#named[code] ?? this.#nowhere()
    mark(positions, position)
    this.#named[code] = positions
  }

  /** A position more than the glob has characters: the end. */
  #nowhere(): Positions {
    return new Int32Array((this.#length >>> 5) + 1)
  }
}

/** Characters, runs of `*`, and for paths folders, which are a run with its slash. Several folders in a row are as one. */
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
