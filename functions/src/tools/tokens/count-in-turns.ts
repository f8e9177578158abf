import { LongWork } from '../../loop-turn.ts'
import type { TokenCounter } from './token-counter.ts'

/** The tokens of a text of any length. Other requests get turns meanwhile, also within one word of a million letters. */
export async function countInTurns(
  text: string,
  { steps }: Pick<TokenCounter, 'steps'>,
  work: LongWork = new LongWork(),
): Promise<number> {
  const counting = steps(text)
  for (;;) {
    const step = counting.next()
    if (step.done) return step.value
    if (work.isLong) await work.giveTurn()
  }
}
