/** The order of one user's tools by their use, for one UTC day. */
export type UsageRank = {
  /** A text that is the same for the same order. Empty if no tool was used. */
  readonly revision: string
  /** The places of tools that were used, in the order. Only tools whose calls mostly succeed have one. The first place is 0. */
  readonly places: ReadonlyMap<string, number>
}

/** The order for a user of whom no use is known: all tools are ordered by name. */
export const NO_RANK: UsageRank = { revision: '', places: new Map() }
