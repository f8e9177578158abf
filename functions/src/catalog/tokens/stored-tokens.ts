import { listedTool, type ToolDefinition } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { fragmentEnd } from './joined-tokens.ts'
import { atLevel, DETAIL_LEVELS, type DetailLevel } from './detail-levels.ts'
import type { TokenCounter } from './token-counter.ts'

/** Names the encoding, the levels and the place of the cuts. A change of one of them needs another version. */
const VERSION = 'o200k/1'

export type LevelTokens = { readonly [On in DetailLevel]: number }

/** The tokens of a definition in a list without a dialect, as a store keeps them beside the definition. */
export function* storedTokens(
  definition: ToolDefinition,
  { steps }: Pick<TokenCounter, 'steps'>,
): Pieces<string> {
  const counts: number[] = []
  for (const level of DETAIL_LEVELS)
    counts.push(yield* steps(fragmentEnd(JSON.stringify(listedTool(atLevel(definition, level))))))
  return [VERSION, ...counts].join(' ')
}

/** The tokens in a kept text. Undefined if there is no text, or if another version of the counting has written it. */
export function readTokens(text: string | null | undefined): LevelTokens | undefined {
  const [version, ...counts] = (text ?? '').split(' ')
  if (version !== VERSION || counts.length !== DETAIL_LEVELS.length) return undefined
  const [full = NaN, short = NaN, deferred = NaN] = counts.map((count) =>
    /^\d{1,9}$/.test(count) ? Number(count) : NaN,
  )
  return [full, short, deferred].every(Number.isInteger) ? { full, short, deferred } : undefined
}
