import { createHash } from 'node:crypto'
import { NO_RANK, type UsageRank } from '../../catalog/views/usage-rank.ts'
import { byUse, type UsageCount } from './usage-count.ts'

/** The order of tools by their use. Leaves out tools that have failed in more than half of their runs. */
export function rankOf({ tools }: Pick<UsageCount, 'tools'>): UsageRank {
  const names = tools
    .filter(({ calls, failures }) => 2 * failures <= calls)
    .toSorted(byUse)
    .map(({ name }) => name)
  if (names.length === 0) return NO_RANK
  const revision = createHash('sha256').update(names.join('\n')).digest('base64url').slice(0, 22)
  return { revision, places: new Map(names.map((name, place) => [name, place])) }
}
