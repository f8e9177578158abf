import type { CollectionReference, QueryDocumentSnapshot, WriteBatch } from 'firebase-admin/firestore'
import type { FirestoreConnection } from './firestore-connection.ts'

/** The most milliseconds that a call waits while old documents are dropped. */
const CHECK_MS = 5_000

/** An instance counts the bytes of a user again after it has stored an eighth of the user's bound. */
const CHECKS_PER_BOUND = 8

/**
 * The most documents that one check drops. Even if all documents are as short as possible, fewer are stored between two checks.
 */
const DROPPED_MAX = 2_000
/** The most documents that one batch drops, so that no single write is large. */
const DROPPED_AT_ONCE = 500

/**
 * The most users of whom an instance remembers how many bytes it has stored. If a user was forgotten, the next document starts a
 * check.
 */
const USERS_MAX = 10_000

export type Bounded = {
  /** The most bytes of one user. They are the sum of the field `bytes` of the user's documents. */
  readonly userBytes: number
  readonly documentsOf: (uid: string) => Promise<CollectionReference>
  /** The field by which documents with bytes are ordered, from the oldest. A dropped document does not have this field. */
  readonly order: 'expiresAt' | 'bodyAt'
  /** The fields of a document that `drop` reads, besides `bytes`. */
  readonly fields: readonly string[]
  readonly drop: (batch: WriteBatch, document: QueryDocumentSnapshot) => void
}

/**
 * Keeps the bytes of each user near a bound by dropping the user's oldest documents. An instance adds up the bytes of a user when
 * it stores the user's first document, and then after each eighth of the bound. So each instance may let a user exceed the bound
 * by an eighth of it and one document.
 */
export class OldestAbove {
  readonly #connection: FirestoreConnection
  readonly #bounded: Bounded
  /** For each user, how many more bytes may be stored before the next check. */
  readonly #untilCheck = new Map<string, number>()

  constructor(connection: FirestoreConnection, bounded: Bounded) {
    this.#connection = connection
    this.#bounded = bounded
  }

  /**
   * Counts a stored document. If enough bytes have been stored since the user's last check, checks again. Rejects if the check
   * fails.
   */
  async count(uid: string, bytes: number): Promise<void> {
    const bytesUntilCheck = (this.#untilCheck.get(uid) ?? 0) - bytes
    this.#remember(uid, bytesUntilCheck)
    if (bytesUntilCheck < 0) await this.#check(uid)
  }

  /**
   * Drops the user's oldest documents if there are more bytes than the bound. The counter is reset first, so that documents that
   * are stored meanwhile start no second check.
   */
  async #check(uid: string): Promise<void> {
    const { userBytes, documentsOf } = this.#bounded
    this.#remember(uid, userBytes / CHECKS_PER_BOUND)
    try {
      await this.#connection.calls.within(CHECK_MS, async () =>
        dropOldest(await documentsOf(uid), this.#bounded),
      )
    } catch (error) {
      this.#untilCheck.delete(uid)
      throw error
    }
  }

  /** Makes the user the newest one in the map. If there are too many users, the oldest one is forgotten. */
  #remember(uid: string, bytesUntilCheck: number): void {
    this.#untilCheck.delete(uid)
    this.#untilCheck.set(uid, bytesUntilCheck)
    const [oldest = uid] = this.#untilCheck.keys()
    if (this.#untilCheck.size > USERS_MAX) this.#untilCheck.delete(oldest)
  }
}

/**
 * Drops the oldest documents of one user until the others fit into the bound. This costs one read for each thousand documents,
 * and about one read and one write for each dropped one. They are chosen in one transaction, so that instances that check at the
 * same time choose the same documents.
 */
async function dropOldest(documents: CollectionReference, bounded: Bounded): Promise<void> {
  const dropped = await tooMany(documents, bounded)
  for (let from = 0; from < dropped.length; from += DROPPED_AT_ONCE) {
    const batch = documents.firestore.batch()
    for (const document of dropped.slice(from, from + DROPPED_AT_ONCE)) bounded.drop(batch, document)
    await batch.commit()
  }
}

async function tooMany(
  documents: CollectionReference,
  { userBytes, order, fields }: Bounded,
): Promise<readonly QueryDocumentSnapshot[]> {
  const { AggregateField } = await import('@google-cloud/firestore')
  const sums = documents
    .where('bytes', '>', 0)
    .aggregate({ bytes: AggregateField.sum('bytes'), count: AggregateField.count() })
  const oldestFirst = documents.orderBy(order).select('bytes', ...fields)
  return documents.firestore.runTransaction(
    async (transaction) => {
      const { bytes, count } = (await transaction.get(sums)).data()
      let over = bytes - userBytes
      if (over <= 0) return []
      // If all documents had the same length, half of this number would be enough. If the number is too low, the next check drops
      // more documents.
      const limit = Math.min(DROPPED_MAX, Math.ceil((2 * over * count) / bytes))
      const oldest = await transaction.get(oldestFirst.limit(limit))
      return oldest.docs.filter((document) => {
        const isTooMany = over > 0
        over -= Number(document.get('bytes') ?? 0)
        return isTooMany
      })
    },
    { readOnly: true },
  )
}
