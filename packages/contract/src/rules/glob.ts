import {
  ACROSS,
  codeOf,
  FOLDER,
  FOLDERS,
  ONE,
  SLASH,
  tokensOf,
  WITHIN,
  type GlobKind,
} from './glob-tokens.ts'
import { matchesTokens } from './matches-tokens.ts'

export type { GlobKind } from './glob-tokens.ts'

/** The most characters of a glob. */
export const GLOB_LENGTH_MAX = 256

/**
 * True if the whole text matches the glob. The time is at most proportional to the product of both lengths, whatever the texts
 * are. Most pairs are decided by a search for the literal parts, because a call compares up to 200 rules.
 */
export function matchesGlob(glob: string, text: string, kind: GlobKind): boolean {
  return globMatcher(glob, kind)(text)
}

/** Prepares the comparison of a glob with many texts. */
export function globMatcher(glob: string, kind: GlobKind): (text: string) => boolean {
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
