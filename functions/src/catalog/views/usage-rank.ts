/** The order of one user's tools by their use, for one UTC day. */
export type UsageRank = {
  /** A text that is equal for equal orders. Empty if no tool was used. */
  readonly revision: string
  /** The places of the tools that were used and whose calls mostly succeed. The first place is 0. */
  readonly places: ReadonlyMap<string, number>
}

/** The rank of a user without known use: all tools are ordered by name. */
export const NO_RANK: UsageRank = { revision: '', places: new Map() }
