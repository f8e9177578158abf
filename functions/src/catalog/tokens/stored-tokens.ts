import { listedTool, type ToolDefinition } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { fragmentEnd } from './joined-tokens.ts'
import { atRung, RUNGS, type Rung } from './rungs.ts'
import type { TokenCounter } from './token-counter.ts'

/** Names the encoding, the rungs and the place of the cuts. A change of one of them needs another version. */
const VERSION = 'o200k/1'

export type RungTokens = { readonly [On in Rung]: number }

/** The tokens of a definition in a list without a dialect, as a store keeps them beside the definition. */
export function* storedTokens(
  definition: ToolDefinition,
  { steps }: Pick<TokenCounter, 'steps'>,
): Pieces<string> {
  const counts: number[] = []
  for (const rung of RUNGS)
    counts.push(yield* steps(fragmentEnd(JSON.stringify(listedTool(atRung(definition, rung))))))
  return [VERSION, ...counts].join(' ')
}

/** The tokens in a kept text. Undefined if there is no text, or if another version of the counting has written it. */
export function readTokens(text: string | null | undefined): RungTokens | undefined {
  const [version, ...counts] = (text ?? '').split(' ')
  if (version !== VERSION || counts.length !== RUNGS.length) return undefined
  const [full = NaN, short = NaN, deferred = NaN] = counts.map((count) =>
    /^\d{1,9}$/.test(count) ? Number(count) : NaN,
  )
  return [full, short, deferred].every(Number.isInteger) ? { full, short, deferred } : undefined
}
