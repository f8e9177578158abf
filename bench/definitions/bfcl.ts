import { listedTool } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import { readFileSync } from 'node:fs'

/** The 753 function definitions of the Berkeley Function Calling Leaderboard, or the 154 definitions of its real users. */
export function bfclDefinitions(set: 'definitions' | 'live-definitions' = 'definitions'): ToolDefinition[] {
  const file = new URL(`../../test/support/bfcl/${set}.jsonl`, import.meta.url)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as ToolDefinition)
}

/** The `count` definitions whose listed tools have a size nearest to `bytes`. They are a typical small catalog of a known size. */
export function nearestInSize(
  definitions: readonly ToolDefinition[],
  count: number,
  bytes: number,
): ToolDefinition[] {
  const distance = (definition: ToolDefinition): number =>
    Math.abs(Buffer.byteLength(JSON.stringify(listedTool(definition))) - bytes)
  return definitions.toSorted((a, b) => distance(a) - distance(b)).slice(0, count)
}
