import type { JsonObject } from '@toolrack/contract'
import { readFileSync } from 'node:fs'

/** A definition of the Berkeley Function-Calling Leaderboard: real input by many authors. */
export type BfclDefinition = {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject }
}

/** The 753 definitions: with types in JSON Schema, or `raw` with Python's type names as published; or the 154 of real users. */
export function bfclDefinitions(
  kind: 'definitions' | 'definitions.raw' | 'live-definitions',
): readonly BfclDefinition[] {
  const lines = readFileSync(new URL(`bfcl/${kind}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line) as BfclDefinition)
}

/** The largest number of definitions in one bulk request. */
export function inBulks<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / 200) }, (_, index) =>
    items.slice(index * 200, index * 200 + 200),
  )
}
