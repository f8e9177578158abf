import { listedTool, type ToolDefinition } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { fragmentEnd } from './joined-tokens.ts'
import { atLevel, DETAIL_LEVELS, type DetailLevel } from './detail-levels.ts'
import type { TokenCounter } from './token-counter.ts'

/**
 * The version of stored numbers of tokens. It must change if the encoding, the detail levels, or the places where texts are split
 * change.
 */
const VERSION = 'o200k/1'

export type LevelTokens = { readonly [On in DetailLevel]: number }

/**
 * The number of tokens of a definition at each detail level, as a text that a store keeps with the definition. The numbers are
 * those of a list without a dialect.
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

/** The numbers of tokens in a stored text. Undefined if there is no text, or if another version of the service has counted. */
export function readTokens(text: string | null | undefined): LevelTokens | undefined {
  const [version, ...counts] = (text ?? '').split(' ')
  if (version !== VERSION || counts.length !== DETAIL_LEVELS.length) return undefined
  const [full = NaN, short = NaN, deferred = NaN] = counts.map((count) =>
    /^\d{1,9}$/.test(count) ? Number(count) : NaN,
  )
  return [full, short, deferred].every(Number.isInteger) ? { full, short, deferred } : undefined
}
