import type { AuditStore } from './audit-store.ts'
import type { ChainHead } from './record.ts'
import { headText, type TrailFault } from './verify-trail.ts'

type Heads = { readonly heads: readonly string[]; readonly fault: TrailFault | null }

/**
 * The last record of each chain of a day, or of all days. It is a fault if the store has records that are in none of these
 * chains. The records are counted before the chains are read, because chains only grow. If days were removed between the two
 * reads, the records are counted again.
 */
export async function headsOf(
  store: Pick<AuditStore, 'count' | 'days' | 'chains'>,
  day: string | undefined,
  attempts = 2,
): Promise<Heads> {
  const count = await store.count(day)
  const chains: ChainHead[] = []
  for (const each of day === undefined ? await store.days() : [day])
    chains.push(...(await store.chains(each)))
  const surplus = count - chains.reduce((sum, { seq }) => sum + seq, 0)
  if (surplus > 0 && attempts > 1) return headsOf(store, day, attempts - 1)
  return { heads: chains.map(headText), fault: surplus > 0 ? unchained(surplus) : null }
}

function unchained(surplus: number): TrailFault {
  const reason = `the store has ${surplus} more records than its chains name: the head of a chain was changed or removed, or records were added`
  return { line: 0, place: 'the chains', reason }
}
