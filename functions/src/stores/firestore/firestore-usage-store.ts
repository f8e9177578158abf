import type { KeptUsage, UsageStore } from '../../tools/usage/usage-store.ts'
import { isText, object } from '../../value-shape.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'

const isKept = object<KeptUsage>({ day: isText, text: isText })

/** The use of a user's tools in the document `users/{uid}/tools/usage`. */
export class FirestoreUsageStore implements UsageStore {
  readonly #connection: FirestoreConnection

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
  }

  read = async (uid: string): Promise<KeptUsage | undefined> => {
    try {
      return await this.#connection.calls.within(STORE_DEADLINES.readMs, async () =>
        keptIn((await (await this.#document(uid)).get()).data()),
      )
    } catch (error) {
      throw firestoreError(error)
    }
  }

  keepFirst = async (uid: string, usage: KeptUsage): Promise<KeptUsage> => {
    try {
      return await this.#connection.calls.within(STORE_DEADLINES.writeMs, async () => {
        const reference = await this.#document(uid)
        return reference.firestore.runTransaction(async (transaction) => {
          const kept = keptIn((await transaction.get(reference)).data())
          if (kept && kept.day >= usage.day) return kept
          transaction.set(reference, usage)
          return usage
        })
      })
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The path is built segment by segment, so that no uid can change which document it names. */
  async #document(uid: string) {
    const firestore = await this.#connection.client()
    return firestore.collection('users').doc(uid).collection('tools').doc('usage')
  }
}

function keptIn(data: unknown): KeptUsage | undefined {
  return isKept(data) ? { day: data.day, text: data.text } : undefined
}
