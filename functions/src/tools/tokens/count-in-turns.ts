import { LongWork } from '../../loop-turn.ts'
import type { CountTokens } from './token-counter.ts'

/** UTF-16 code units that are counted without a pause, in one or two milliseconds. */
const SLICE_LENGTH = 8_192

/** The end of a word or a line behind which the encoder always splits. */
const SPLITS = /[A-Za-z](?= [A-Za-z])|[\r\n](?=[A-Za-z])|\p{L}(?=[,.;:!?，。、])/gu

/** The tokens of a text of any length. Other requests get turns meanwhile. */
export async function countInTurns(
  text: string,
  count: CountTokens,
  work: LongWork = new LongWork(),
): Promise<number> {
  let sum = 0
  for (let at = 0; at < text.length;) {
    const end = endOf(text, at)
    if (work.isLong) await work.giveTurn()
    sum += count(text.slice(at, end))
    at = end
  }
  return sum
}

function endOf(text: string, at: number): number {
  if (text.length - at <= SLICE_LENGTH) return text.length
  SPLITS.lastIndex = at + SLICE_LENGTH
  const found = SPLITS.exec(text)
  return found ? found.index + found[0].length : text.length
}
