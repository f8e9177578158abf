/** The most characters of a glob. */
export const GLOB_LENGTH_MAX = 256

/**
 * What the wildcards of a glob mean.
 *
 * - `name`: `*` is any characters, and `?` is one character.
 * - `text`: `*` is any characters. `?` is compared as it is, because it is frequent in texts such as URLs.
 * - `path`: `*` is any characters except `/`. `**` is any characters. A segment `**` is any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/**
 * One token of a glob: the code point of a character, or one of the wildcards, which are negative. `FOLDERS` is always followed by
 * `FOLDER`: the matcher is in `FOLDERS` between two folders, and in `FOLDER` inside the name of one.
 */
type Token = number
const ONE = -1
const WITHIN = -2
const ACROSS = -3
const FOLDERS = -4
const FOLDER = -5

const SLASH = 0x2f

/**
 * True if the whole text matches the glob. The time is at most proportional to the product of both lengths, whatever the texts
 * are. Most pairs are decided by a search for the literal parts, because a call compares up to 200 rules.
 */
export function matchesGlob(glob: string, text: string, kind: GlobKind): boolean {
  return globMatcher(glob, kind)(text)
}

function globMatcher(glob: string, kind: GlobKind): (text: string) => boolean {
  if (kind === 'path') {
    const [literalStart = ''] = glob.split('*', 1)
    return (text) => text.startsWith(literalStart) && matchesTokens(glob, text, kind)
  }
  if (kind === 'text') {
    const parts = glob.split(/\*+/)
    return (text) => matchesParts(parts, text, LITERALLY)
  }
  const matchesName = nameMatcher(glob)
  // A character beyond U+FFFF is two units of the text, and `?` stands for both.
  return (text) => (SURROGATE.test(text) ? matchesTokens(glob, text, kind) : matchesName(text))
}

/** Compares a glob of the kind `name` with many texts, which have no characters beyond U+FFFF, as names of tools have none. */
export function nameMatcher(glob: string): (name: string) => boolean {
  const parts = glob.split(/\*+/)
  const match = glob.includes('?') ? WITH_SINGLES : LITERALLY
  return (name) => matchesParts(parts, name, match)
}

const SURROGATE = /[\uD800-\uDFFF]/

/** Compares a part without `*`: at one place, and at the first place from there on. */
type PartMatch = {
  readonly fits: (part: string, text: string, at: number) => boolean
  readonly find: (part: string, text: string, from: number) => number
}

const LITERALLY: PartMatch = {
  fits: (part, text, at) => text.startsWith(part, at),
  find: (part, text, from) => text.indexOf(part, from),
}

const WITH_SINGLES: PartMatch = {
  fits(part, text, at) {
    if (at + part.length > text.length) return false
    for (let index = 0; index < part.length; index += 1)
      if (part[index] !== '?' && part[index] !== text[at + index]) return false
    return true
  },
  find(part, text, from) {
    for (let at = from; at + part.length <= text.length; at += 1)
      if (WITH_SINGLES.fits(part, text, at)) return at
    return -1
  },
}

/** True if the text is these parts in their order, with any characters between two of them. */
function matchesParts(parts: readonly string[], text: string, { fits, find }: PartMatch): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return text.length === first.length && fits(first, text, 0)
  if (!fits(first, text, 0)) return false
  let from = first.length
  for (let index = 1; index < parts.length - 1; index += 1) {
    const part = parts[index] ?? ''
    const found = find(part, text, from)
    if (found === -1) return false
    from = found + part.length
  }
  const end = text.length - last.length
  return end >= from && fits(last, text, end)
}

/** Marks positions in two arrays, because a set for each character of a long text takes a hundred times as long. */
function matchesTokens(glob: string, text: string, kind: GlobKind): boolean {
  const tokens = tokensOf(glob, kind)
  let marks = new Uint8Array(tokens.length + 3)
  let next = new Uint8Array(marks.length)
  marks[0] = 1
  skipMarked(tokens, marks)
  for (const character of text) {
    next.fill(0)
    let isAlive = false
    const code = codeOf(character)
    for (let position = 0; position < tokens.length; position += 1) {
      if (marks[position] === 0) continue
      const reached = after(tokens, position, code)
      if (reached === NONE) continue
      next[reached] = 1
      isAlive = true
    }
    if (!isAlive) return false
    skipMarked(tokens, next)
    const before = marks
    marks = next
    next = before
  }
  return marks[tokens.length] === 1
}

/** Marks the positions that the marked ones reach if wildcards match nothing. All of them come later. */
function skipMarked(tokens: Int32Array, marks: Uint8Array): void {
  for (let position = 0; position < tokens.length; position += 1)
    if (marks[position] === 1) marks[skipped(tokens, position)] = 1
}

/** Follows all possible positions in a glob at once, character by character. */
export class GlobMatcher {
  readonly #tokens: Int32Array

  constructor(glob: string, kind: GlobKind) {
    this.#tokens = tokensOf(glob, kind)
  }

  get start(): ReadonlySet<number> {
    return withSkipped(this.#tokens, [0])
  }

  /** Every character that the glob names. All others are the same to it. */
  get characters(): readonly string[] {
    return [...this.#tokens].filter((token) => token >= 0).map((code) => String.fromCodePoint(code))
  }

  after(positions: ReadonlySet<number>, character: string): ReadonlySet<number> {
    const tokens = this.#tokens
    const reached = [...positions].map((position) => after(tokens, position, codeOf(character)))
    return withSkipped(
      tokens,
      reached.filter((position) => position !== NONE),
    )
  }

  /** True if the characters so far match the whole glob. */
  isEnd(positions: ReadonlySet<number>): boolean {
    return positions.has(this.#tokens.length)
  }
}

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}

function tokensOf(glob: string, kind: GlobKind): Int32Array {
  const tokens: Token[] = []
  const parts = glob.matchAll(kind === 'path' ? /(?<=^|\/)\*{2,}\/|\*+|[^*]/gsu : /\*+|[^*]/gsu)
  for (const [part] of parts) {
    if (!part.startsWith('*')) tokens.push(kind === 'name' && part === '?' ? ONE : codeOf(part))
    else if (part.endsWith('/')) tokens.push(FOLDERS, FOLDER)
    else tokens.push(kind === 'path' && part === '*' ? WITHIN : ACROSS)
  }
  return Int32Array.from(tokens)
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? NONE
}

/** No position. */
const NONE = -1

/** The position to which a character leads from a position, or NONE. */
function after(tokens: Int32Array, position: number, code: number): number {
  const token = tokens[position]
  if (token === undefined) return NONE
  if (token >= 0) return token === code ? position + 1 : NONE
  if (token === ONE) return position + 1
  if (token === WITHIN) return code === SLASH ? NONE : position
  if (token === FOLDERS) return code === SLASH ? position : position + 1
  if (token === FOLDER) return code === SLASH ? position - 1 : position
  return position
}

/** The position that follows if the wildcard at a position matches nothing. The same position if there is no wildcard. */
function skipped(tokens: Int32Array, position: number): number {
  const token = tokens[position]
  if (token === WITHIN || token === ACROSS) return position + 1
  return token === FOLDERS ? position + 2 : position
}

/** The positions, and those that they reach if wildcards match nothing. */
function withSkipped(tokens: Int32Array, positions: readonly number[]): ReadonlySet<number> {
  const all = new Set(positions)
  // A set that grows while it is iterated also gives its new elements.
  for (const position of all) all.add(skipped(tokens, position))
  return all
}
