import type { ToolDefinition } from '@toolrack/contract'
import type { Pieces, Turns } from '../../loop-turn.ts'
import { storedTokens } from '../tokens/stored-tokens.ts'
import { tokenCounter, type TokenCounter } from '../tokens/token-counter.ts'
import type { DefinitionChange } from './definition-change.ts'

/** The most UTF-16 code units of a definition whose tokens are counted during a write. Longer ones would make the write slow. */
const COUNTED_LENGTH_MAX = 65_536

/**
 * Adds the number of tokens to each written definition. If a definition is too long to be counted here, it is counted when a list
 * needs the number.
 */
export async function withTokens<Change extends DefinitionChange>(
  changes: readonly Change[],
  turns: Turns,
): Promise<readonly Change[]> {
  return changes.some(isCounted) ? turns.run(counting(changes, await tokenCounter())) : changes
}

export function* counting<Change extends DefinitionChange>(
  changes: readonly Change[],
  counter: TokenCounter,
): Pieces<readonly Change[]> {
  const counted: Change[] = []
  for (const change of changes) {
    yield
    if (!isCounted(change)) counted.push(change)
    else {
      const definition = JSON.parse(change.text) as ToolDefinition
      counted.push({ ...change, tokens: yield* storedTokens(definition, counter) })
    }
  }
  return counted
}

function isCounted<Change extends DefinitionChange>(
  change: Change,
): change is Change & { readonly kind: 'put' } {
  return change.kind === 'put' && change.text.length <= COUNTED_LENGTH_MAX
}
