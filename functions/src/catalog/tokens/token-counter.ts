import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { atOnce, Turns, type Pieces } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { countMerged } from './byte-pair-merge.ts'
import { Vocabulary } from './vocabulary.ts'

/** Counts the o200k tokens of a text. The names of special tokens count as ordinary text. */
export type CountTokens = (text: string) => number

/** A counter that can also let other work run every few milliseconds, for texts of any length. */
export type TokenCounter = CountTokens & { readonly steps: (text: string) => Pieces<number> }

const NOT_ASCII = /[^\0-\x7F]/

/** How many pieces of a text are counted before other work may run. */
const PIECES = 256

let counter: Promise<TokenCounter> | undefined

/**
 * Loads the vocabulary at the first call, which takes about 100 ms and 5 MB. Only requests that count tokens wait for it. Of the
 * package, only the file of the vocabulary and the expression are used. The package's own module of the vocabulary takes 40 MB. Its own
 * encoder takes quadratic time for a long word, and remembers 100,000 words of any length.
 */
export function tokenCounter(): Promise<TokenCounter> {
  return (counter ??= asPart('the vocabulary of tokens', load).catch((error: unknown) => {
    // After a failure, the next call loads the vocabulary again.
    counter = undefined
    throw error
  }))
}

async function load(): Promise<TokenCounter> {
  const [file, { O200K_TOKEN_SPLIT_REGEX: pieces }] = await Promise.all([
    readFile(createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')),
    import('gpt-tokenizer/encodingParams/constants'),
  ])
  return counterOf(await new Turns().run(Vocabulary.read(file)), pieces)
}

/** Makes a counter from a vocabulary. `pieces` is the expression by which a text is split before its characters are joined to tokens. */
export function counterOf(vocabulary: Vocabulary, pieces: RegExp): TokenCounter {
  function* steps(text: string): Pieces<number> {
    let count = 0
    let seen = 0
    for (const [piece] of text.matchAll(pieces)) {
      const bytes = NOT_ASCII.test(piece) ? Buffer.from(piece).toString('latin1') : piece
      const isToken = vocabulary.rankOf(bytes, 0, bytes.length) !== undefined
      count += isToken ? 1 : yield* countMerged(bytes, vocabulary)
      if (++seen % PIECES === 0) yield
    }
    return count
  }

  return Object.assign((text: string) => atOnce(steps(text)), { steps })
}
