import { ACROSS, codeOf, FOLDER, FOLDERS, ONE, SLASH, tokensOf, WITHIN } from './glob-tokens.ts'
import type { GlobKind, Token } from './glob-tokens.ts'

/**
 * Follows all positions at once, 32 in a word: a call compares hundreds of globs, and whoever writes hostile ones must not make
 * others wait. The result is that of `GlobMatcher`.
 */
export function matchesTokens(glob: string, text: string, kind: GlobKind): boolean {
  const bits = bitsOf(tokensOf(glob, kind))
  let at = new Int32Array(bits.words)
  let next = new Int32Array(bits.words)
  at[0] = 1
  skipWildcards(bits, at)
  for (const character of text) {
    if (!advance(bits, codeOf(character), at, next)) return false
    skipWildcards(bits, next)
    const before = at
    at = next
    next = before
  }
  return isMarked(at, bits.length)
}

/** One bit for each position of a glob, in words of 32. */
type Bits = Int32Array

type GlobBits = {
  readonly length: number
  readonly words: number
  /** The positions of each character that the glob names. */
  readonly literals: ReadonlyMap<number, Bits>
  /** The positions that one more character leaves for the next position. */
  readonly leave: { readonly atSlash: Bits; readonly atOther: Bits }
  /** The positions that stay. */
  readonly stay: { readonly atSlash: Bits; readonly atOther: Bits }
  /** The positions inside the name of a folder, which `/` ends. */
  readonly folder: Bits
  readonly folders: Bits
  /** The wildcards that can match nothing, before the next position. */
  readonly stars: Bits
}

function bitsOf(tokens: Int32Array): GlobBits {
  const words = (tokens.length >>> 5) + 1
  const literals = new Map<number, Bits>()
  const [one, within, across, folders, folder] = [ONE, WITHIN, ACROSS, FOLDERS, FOLDER].map((kind) =>
    marked(words, tokens, (token) => token === kind),
  ) as [Bits, Bits, Bits, Bits, Bits]
  for (const code of new Set(tokens))
    if (code >= 0)
      literals.set(
        code,
        marked(words, tokens, (token) => token === code),
      )
  return {
    length: tokens.length,
    words,
    literals,
    leave: { atSlash: one, atOther: either(one, folders) },
    stay: { atSlash: either(across, folders), atOther: either(either(across, within), folder) },
    folder,
    folders,
    stars: either(within, across),
  }
}

function marked(words: number, tokens: Int32Array, isMeant: (token: Token) => boolean): Bits {
  const bits = new Int32Array(words)
  for (const [position, token] of tokens.entries())
    if (isMeant(token)) bits[position >>> 5] = (bits[position >>> 5] ?? 0) | (1 << (position & 31))
  return bits
}

function either(a: Bits, b: Bits): Bits {
  return a.map((word, index) => word | (b[index] ?? 0))
}

function isMarked(bits: Bits, position: number): boolean {
  return (((bits[position >>> 5] ?? 0) >>> (position & 31)) & 1) === 1
}

/** Sets `next` to the positions that a character reaches from `at`. False if there are none. */
function advance(
  { words, literals, leave, stay, folder }: GlobBits,
  code: number,
  at: Bits,
  next: Bits,
): boolean {
  const isSlash = code === SLASH
  const literal = literals.get(code)
  const leaving = isSlash ? leave.atSlash : leave.atOther
  const staying = isSlash ? stay.atSlash : stay.atOther
  let carried = 0
  let isAlive = 0
  for (let word = 0; word < words; word += 1) {
    const from = at[word] ?? 0
    const left = from & ((leaving[word] ?? 0) | (literal ? (literal[word] ?? 0) : 0))
    let reached = (from & (staying[word] ?? 0)) | (left << 1) | carried
    carried = left >>> 31
    if (isSlash) {
      const ended = from & (folder[word] ?? 0)
      reached |= ended >>> 1
      // The position before the first one of this word is the last one of the word before.
      if (word > 0 && (ended & 1) === 1) next[word - 1] = (next[word - 1] ?? 0) | (1 << 31)
    }
    next[word] = reached
    isAlive |= reached | left
  }
  return isAlive !== 0
}

/** Adds the positions that are reached if wildcards match nothing. After `**` and its `/` there can be another wildcard. */
function skipWildcards({ words, folders, stars }: GlobBits, at: Bits): void {
  addShifted(words, folders, at, 2)
  addShifted(words, stars, at, 1)
}

function addShifted(words: number, from: Bits, at: Bits, by: number): void {
  let carried = 0
  for (let word = 0; word < words; word += 1) {
    const moved = (at[word] ?? 0) & (from[word] ?? 0)
    at[word] = (at[word] ?? 0) | (moved << by) | carried
    carried = moved >>> (32 - by)
  }
}
