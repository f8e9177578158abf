/** What the list can be asked for: the shape that a vendor's `tools` field takes. */
export const DIALECTS = ['openai', 'openai-responses', 'openai-strict', 'anthropic', 'gemini', 'mcp'] as const
export type Dialect = (typeof DIALECTS)[number]

/**
 * What became of a definition: sent with the schema as it is listed, with another schema of the same meaning, without
 * the strictness that was asked for, or not at all.
 */
export const CONVERSIONS = ['full', 'rewritten', 'non-strict', 'quarantined'] as const
export type Conversion = (typeof CONVERSIONS)[number]

/** What stands in the way of a definition in a dialect. */
export type Obstacle = {
  /** JSON Pointer into the definition. */
  readonly pointer: string
  /** A sentence for its author. */
  readonly reason: string
}

export type Converted<Item> =
  | { readonly conversion: 'full' | 'rewritten'; readonly item: Item }
  | ({ readonly conversion: 'non-strict'; readonly item: Item } & Obstacle)
  | ({ readonly conversion: 'quarantined' } & Obstacle)
