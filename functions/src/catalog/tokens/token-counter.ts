import { atOnce, Turns, type Pieces } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { countMerged } from './byte-pair-merge.ts'

/** Counts the o200k tokens of a text. The names of special tokens count as ordinary text. */
export type CountTokens = (text: string) => number

/** A counter that can also let other work run every few milliseconds, for texts of any length. */
export type TokenCounter = CountTokens & { readonly steps: (text: string) => Pieces<number> }

const NOT_ASCII = /[^\0-\x7F]/

/** How many pieces of a text are counted before other work may run. */
const PIECES = 256

let counter: Promise<TokenCounter> | undefined

/**
 * Loads the vocabulary at the first call, which takes about 200 ms and 60 MB. Only requests that count tokens wait for it. Of the
 * package, only the vocabulary is imported. The package's own encoder takes quadratic time for a long word, and remembers 100,000
 * words of any length.
 */
export function tokenCounter(): Promise<TokenCounter> {
  return (counter ??= asPart('the vocabulary of tokens', load).catch((error: unknown) => {
    // After a failure, the next call loads the vocabulary again.
    counter = undefined
    throw error
  }))
}

async function load(): Promise<TokenCounter> {
  const [{ default: tokens }, { O200K_TOKEN_SPLIT_REGEX: pieces }] = await Promise.all([
    import('gpt-tokenizer/bpeRanks/o200k_base'),
    import('gpt-tokenizer/encodingParams/constants'),
  ])
  return new Turns().run(counterOf(tokens, pieces))
}

/**
 * Makes a counter from a vocabulary. `tokens` are ordered by their ranks. `pieces` is the expression by which a text is split
 * before its characters are joined to tokens.
 */
export function* counterOf(
  tokens: readonly (string | readonly number[])[],
  pieces: RegExp,
): Pieces<TokenCounter> {
  const ranks = new Map<string, number>()
  /**
   * The ranks of tokens that are not ASCII, or that are not decoded yet. Nearly half of all tokens are such tokens, and most
   * texts contain none of them.
   */
  const others: number[] = []
  for (const [rank, token] of tokens.entries()) {
    if (typeof token === 'string' && !NOT_ASCII.test(token)) ranks.set(token, rank)
    else others.push(rank)
    yield
  }

  function* bytesOf(piece: string): Pieces<string> {
    if (!NOT_ASCII.test(piece)) return piece
    for (let rank = others.pop(); rank !== undefined; rank = others.pop()) {
      ranks.set(latin1(tokens[rank] ?? ''), rank)
      yield
    }
    return latin1(piece)
  }

  function* steps(text: string): Pieces<number> {
    let count = 0
    let seen = 0
    for (const [piece] of text.matchAll(pieces)) {
      const bytes = yield* bytesOf(piece)
      count += ranks.has(bytes) ? 1 : yield* countMerged(bytes, ranks)
      if (++seen % PIECES === 0) yield
    }
    return count
  }

  return Object.assign((text: string) => atOnce(steps(text)), { steps })
}

/** Converts a UTF-8 text, or bytes, to a text with one character for each byte. */
function latin1(token: string | readonly number[]): string {
  return (typeof token === 'string' ? Buffer.from(token) : Buffer.from(token)).toString('latin1')
}
