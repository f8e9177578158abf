import type { CollectionReference, QueryDocumentSnapshot } from 'firebase-admin/firestore'

/** Logs that one look removes at most: more than the shortest logs between two looks. */
const REMOVED_MAX = 2_000
const REMOVED_AT_ONCE = 500

/**
 * Removes the oldest logs of one user until the others have at most so many bytes. Where nothing is to be removed, this costs
 * one read for each thousand logs; else about one read and one removal more for each that goes. What is removed is decided at
 * one moment, so that instances which look at the same time do not remove more together.
 */
export async function dropOldestLogs(logs: CollectionReference, bytesMax: number): Promise<void> {
  const removed = await tooMany(logs, bytesMax)
  for (let from = 0; from < removed.length; from += REMOVED_AT_ONCE) {
    const batch = logs.firestore.batch()
    for (const log of removed.slice(from, from + REMOVED_AT_ONCE)) batch.delete(log.ref)
    await batch.commit()
  }
}

async function tooMany(
  logs: CollectionReference,
  bytesMax: number,
): Promise<readonly QueryDocumentSnapshot[]> {
  const { AggregateField } = await import('@google-cloud/firestore')
  const sums = logs.aggregate({ bytes: AggregateField.sum('bytes'), logs: AggregateField.count() })
  const oldestFirst = logs.orderBy('expiresAt').select('bytes')
  return logs.firestore.runTransaction(
    async (transaction) => {
      const { bytes, logs: count } = (await transaction.get(sums)).data()
      let over = bytes - bytesMax
      if (over <= 0) return []
      // Twice as many as of logs of one length; where that is too few, the next look goes on.
      const limit = Math.min(REMOVED_MAX, Math.ceil((2 * over * count) / bytes))
      const oldest = await transaction.get(oldestFirst.limit(limit))
      return oldest.docs.filter((log) => {
        const isTooMany = over > 0
        over -= Number(log.get('bytes') ?? 0)
        return isTooMany
      })
    },
    { readOnly: true },
  )
}
