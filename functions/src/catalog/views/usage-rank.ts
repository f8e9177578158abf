import { createHash } from 'node:crypto'
import { byUse, type UsageCount } from '../../features/usage/usage-count.ts'

/** The order of one user's tools by their use, for one UTC day. */
export type UsageRank = {
  /** Equal for equal orders. Empty if no tool was used. */
  readonly revision: string
  /** The places of the tools that are used and work. The first place is 0. */
  readonly places: ReadonlyMap<string, number>
}

/** The rank of a user whose use is not known: all tools are ordered by name. */
export const NO_RANK: UsageRank = { revision: '', places: new Map() }

/** Leaves out tools that fail in more than half of their runs. */
export function rankOf({ tools }: UsageCount): UsageRank {
  const names = tools
    .filter(({ calls, failures }) => 2 * failures <= calls)
    .toSorted(byUse)
    .map(({ name }) => name)
  if (names.length === 0) return NO_RANK
  const revision = createHash('sha256').update(names.join('\n')).digest('base64url').slice(0, 22)
  return { revision, places: new Map(names.map((name, place) => [name, place])) }
}
