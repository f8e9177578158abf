import { GlobSet, Needles, START } from '@toolrack/contract'
import { PartSearch } from '../../../packages/contract/src/matching/part-search.ts'
import { TextEnds } from '../../../packages/contract/src/matching/text-ends.ts'
import { PrintedSecrets } from '../../../functions/src/redaction/printed-secrets.ts'
import { badGlobs, type BadTexts } from '../bad-texts.ts'
import type { Calls } from './calls.ts'

const MATCHING = 'packages/contract/src/matching/'
const REDACTION = 'functions/src/redaction/'

/** Functions that count their steps: each returns the steps, and the length of everything that it was given. */
export const COUNTED: Calls<(bad: BadTexts) => { readonly steps: number; readonly length: number }> = {
  [`${MATCHING}glob-set.ts`]: {
    GlobSet(bad) {
      const globs = badGlobs(bad)
      const set = new GlobSet(globs, 'text')
      set.answers(bad.text)
      return { steps: set.steps, length: bad.text.length + lengthOf(globs) }
    },
  },
  [`${MATCHING}needles.ts`]: {
    Needles({ text, patterns }) {
      const needles = new Needles([...new Set(patterns)])
      let state = START
      for (let at = 0; at < text.length; at += 1) state = needles.next(state, text.charCodeAt(at))
      return { steps: needles.steps, length: text.length + lengthOf(patterns) }
    },
  },
  [`${MATCHING}part-search.ts`]: {
    PartSearch({ text, patterns }) {
      const sequences = patterns.map((one) => ({ parts: [one, one.slice(0, 1), one], after: 1 }))
      const search = new PartSearch(sequences)
      search.found(text, [...sequences.keys()], () => 0)
      return { steps: search.steps, length: text.length + 3 * lengthOf(patterns) }
    },
  },
  [`${MATCHING}text-ends.ts`]: {
    TextEnds({ text, patterns }) {
      const ends = new TextEnds(patterns.map((one) => ({ first: one, last: one, lengthMin: 1 })))
      ends.fitting(text)
      return { steps: ends.steps, length: text.length + 2 * lengthOf(patterns) }
    },
  },
  [`${REDACTION}printed-secrets.ts`]: {
    PrintedSecrets({ text, patterns }) {
      const needles = new Needles([...new Set(patterns)])
      const printed = new PrintedSecrets(needles)
      // In pieces of one unit, each of which must cost no more than itself.
      for (let at = 0; at < text.length; at += 1) printed.take(text.charAt(at))
      printed.end()
      return { steps: needles.steps, length: text.length + lengthOf(patterns) }
    },
  },
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0)
}
