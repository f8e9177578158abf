import { listedTool, type ToolDefinition } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { fragmentEnd } from './joined-tokens.ts'
import { atLevel, DETAIL_LEVELS, type DetailLevel } from './detail-levels.ts'
import type { TokenCounter } from './token-counter.ts'

/** The version of stored counts. It must change if the encoding, the detail levels or the places of the cuts change. */
const VERSION = 'o200k/1'

export type LevelTokens = { readonly [On in DetailLevel]: number }

/**
 * The tokens of a definition at each detail level, as the text that a store keeps beside the definition. They are counted without
 * a dialect.
 */
export function* storedTokens(
  definition: ToolDefinition,
  { steps }: Pick<TokenCounter, 'steps'>,
): Pieces<string> {
  const counts: number[] = []
  for (const level of DETAIL_LEVELS)
    counts.push(yield* steps(fragmentEnd(JSON.stringify(listedTool(atLevel(definition, level))))))
  return [VERSION, ...counts].join(' ')
}

/** The tokens in a stored text. Undefined if there is no text, or if another version of the counting has written it. */
export function readTokens(text: string | null | undefined): LevelTokens | undefined {
  const [version, ...counts] = (text ?? '').split(' ')
  if (version !== VERSION || counts.length !== DETAIL_LEVELS.length) return undefined
  const [full = NaN, short = NaN, deferred = NaN] = counts.map((count) =>
    /^\d{1,9}$/.test(count) ? Number(count) : NaN,
  )
  return [full, short, deferred].every(Number.isInteger) ? { full, short, deferred } : undefined
}
