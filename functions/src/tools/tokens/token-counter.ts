import { LongWork } from '../../loop-turn.ts'
import { countMerged } from './byte-pair-merge.ts'

/** The number of o200k tokens of a text. The names of special tokens in the text are plain text. */
export type CountTokens = (text: string) => number

const NOT_ASCII = /[^\0-\x7F]/

let counter: Promise<CountTokens> | undefined

/**
 * Loads the vocabulary at the first call, which takes about 300 ms and 100 MB. Only counting needs it, so no other request waits for
 * it. Of the package only the vocabulary is imported: its own encoder takes quadratic time for a long word, and remembers
 * 100,000 words of any length.
 */
export function tokenCounter(): Promise<CountTokens> {
  return (counter ??= load())
}

async function load(): Promise<CountTokens> {
  const [{ default: tokens }, { O200K_TOKEN_SPLIT_REGEX: pieces }] = await Promise.all([
    import('gpt-tokenizer/bpeRanks/o200k_base'),
    import('gpt-tokenizer/encodingParams/constants'),
  ])
  const ranks = new Map<string, number>()
  const work = new LongWork()
  for (const [rank, token] of tokens.entries()) {
    if (work.isLong) await work.giveTurn()
    ranks.set(typeof token === 'string' ? bytesOf(token) : Buffer.from(token).toString('latin1'), rank)
  }
  return (text) => {
    let count = 0
    for (const [piece] of text.matchAll(pieces)) {
      const bytes = bytesOf(piece)
      count += ranks.has(bytes) ? 1 : countMerged(bytes, ranks)
    }
    return count
  }
}

/** One character for each byte of the UTF-8 text. */
function bytesOf(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text).toString('latin1') : text
}
