import type { Pieces } from '../../loop-turn.ts'

const LINE_END = 0x0a
const SPACE = 0x20
/** The bytes of a token are at most this share of the bytes of its line, because the line has them in base64. */
const BYTES_SHARE = 3 / 4
/** The hash table has at least this many places for each token, so a search soon finds a free place. */
const PLACES_PER_TOKEN = 2
/** The constants of the hash FNV-1a, which is short and spreads short texts well. */
const [FNV_OFFSET, FNV_PRIME] = [0x811c9dc5, 0x01000193]
/** A free place of the hash table. */
const FREE = -1

/**
 * The ranks of tokens, by their bytes. Three arrays of numbers hold all tokens, in 5 MB for o200k. A Map of strings takes 20 MB, and
 * reading the strings from a JavaScript module leaves as much again unused in the heap of the process.
 */
export class Vocabulary {
  /** The bytes of all tokens, one token after the other. The token of a rank ends where the next one starts. */
  readonly #bytes: Uint8Array
  readonly #starts: Uint32Array
  /** A hash table of ranks with open addressing. Its length is a power of two. */
  readonly #places: Int32Array

  private constructor(bytes: Uint8Array, starts: Uint32Array, places: Int32Array) {
    this.#bytes = bytes
    this.#starts = starts
    this.#places = places
  }

  /** Reads a file of tiktoken: each line has the base64 of a token and its rank, and the ranks are 0, 1, 2 and so on. */
  static *read(file: Buffer): Pieces<Vocabulary> {
    const count = yield* linesOf(file)
    const bytes = Buffer.alloc(Math.ceil(file.length * BYTES_SHARE))
    const starts = new Uint32Array(count + 1)
    const places = new Int32Array(2 ** Math.ceil(Math.log2(count * PLACES_PER_TOKEN))).fill(FREE)
    let [line, end] = [0, 0]
    for (let rank = 0; rank < count; rank += 1) {
      const space = file.indexOf(SPACE, line)
      const start = end
      end += bytes.write(file.toString('latin1', line, space), start, 'base64')
      starts[rank + 1] = end
      let place = hashOfBytes(bytes, start, end) & (places.length - 1)
      while (places[place] !== FREE) place = (place + 1) & (places.length - 1)
      places[place] = rank
      line = file.indexOf(LINE_END, space) + 1
      yield
    }
    // A copy, so that the unused rest is freed.
    return new Vocabulary(new Uint8Array(bytes.subarray(0, end)), starts, places)
  }

  /**
   * The rank of a part of `text`, which has one character for each byte. Undefined if the part is no token. Makes no new string,
   * because a count asks for several parts of each word.
   */
  rankOf(text: string, from: number, to: number): number | undefined {
    const places = this.#places
    let place = hashOfText(text, from, to) & (places.length - 1)
    for (;;) {
      const rank = places[place]
      if (rank === undefined || rank === FREE) return undefined
      if (this.#isToken(rank, text, from, to)) return rank
      place = (place + 1) & (places.length - 1)
    }
  }

  #isToken(rank: number, text: string, from: number, to: number): boolean {
    const start = this.#starts[rank] ?? 0
    const end = this.#starts[rank + 1] ?? 0
    if (end - start !== to - from) return false
    for (let at = 0; at < to - from; at += 1)
      if (this.#bytes[start + at] !== text.charCodeAt(from + at)) return false
    return true
  }
}

function* linesOf(file: Buffer): Pieces<number> {
  let count = 0
  for (let at = file.indexOf(LINE_END); at >= 0; at = file.indexOf(LINE_END, at + 1)) {
    count += 1
    yield
  }
  return count
}

function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = FNV_OFFSET
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME)
  return hash
}

function hashOfText(text: string, from: number, to: number): number {
  let hash = FNV_OFFSET
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME)
  return hash
}
