import { sentenceEnds } from './sentences.ts'

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number | Promise<number>

export type CountedText = { readonly text: string; readonly tokens: number }

const NOTHING: CountedText = { text: '', tokens: 0 }

/**
 * Cuts a text after as many whole sentences and lines as `room` tokens allow. `tokens` is the number of tokens of the whole text,
 * which is more than `room`. The first guess assumes that tokens are spread evenly over the text. So only few beginnings of a
 * long text have to be counted.
 */
export async function cutText(
  { text, tokens }: CountedText,
  room: number,
  count: CountTokens,
): Promise<CountedText> {
  if (room <= 0) return NOTHING
  const ends = sentenceEnds(text)
  let best = NOTHING
  let low = -1
  let high = ends.length
  let tooLong = { length: text.length, tokens }
  for (let turn = 0; high - low > 1; turn += 1) {
    const share = (room - best.tokens) / Math.max(1, tooLong.tokens - best.tokens)
    const wanted = best.text.length + share * (tooLong.length - best.text.length)
    // Every third turn halves the remaining range, because tokens may be spread very unevenly over a text.
    const guess = turn % 3 === 2 ? (low + high) >>> 1 : lastUpTo(ends, wanted)
    const at = Math.min(high - 1, Math.max(low + 1, guess))
    const tried = text.slice(0, ends[at])
    const taken = await count(tried)
    if (taken <= room) {
      low = at
      best = { text: tried, tokens: taken }
    } else {
      high = at
      tooLong = { length: tried.length, tokens: taken }
    }
  }
  return best
}

/** The index of the last element that is at most `wanted`. */
function lastUpTo(ends: readonly number[], wanted: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ends[middle] ?? 0) <= wanted) low = middle + 1
    else high = middle
  }
  return low - 1
}
