import type { ToolDefinition } from '@toolrack/contract'
import { LongWork } from '../../loop-turn.ts'
import { storedTokens } from '../tokens/stored-tokens.ts'
import { tokenCounter } from '../tokens/token-counter.ts'
import type { DefinitionChange } from './definition-change.ts'

/** The longest definition whose tokens are counted when it is written, in UTF-16 code units. A longer one would delay others by more than some 20 ms. */
const COUNTED_LENGTH_MAX = 65_536

/** The changes with the tokens of the definitions. Other requests get turns meanwhile. What is not counted here is counted when a list needs it. */
export async function withTokens<Change extends DefinitionChange>(
  changes: readonly Change[],
): Promise<readonly Change[]> {
  const counted: Change[] = []
  const work = new LongWork()
  for (const change of changes) {
    if (work.isLong) await work.giveTurn()
    counted.push(await counting(change))
  }
  return counted
}

async function counting<Change extends DefinitionChange>(change: Change): Promise<Change> {
  if (change.kind !== 'put' || change.text.length > COUNTED_LENGTH_MAX) return change
  const count = await tokenCounter()
  return { ...change, tokens: storedTokens(JSON.parse(change.text) as ToolDefinition, count) }
}
