import type { KeptUsage, UsageStore } from '../../features/usage/usage-store.ts'
import { isText, object } from '../../value-shape.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'

const isKept = object<KeptUsage>({ day: isText, text: isText })

/** The use of a user's tools in the document `users/{uid}/tools/usage`. */
export class FirestoreUsageStore implements UsageStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
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

  keepFirst = (uid: string, usage: KeptUsage): Promise<KeptUsage> =>
    this.#changes.change(
      STORE_DEADLINES.writeMs,
      () => this.#document(uid),
      async (transaction, document) => {
        const kept = keptIn((await transaction.get(document)).data())
        if (kept && kept.day >= usage.day) return kept
        transaction.set(document, usage)
        return usage
      },
    )

  /** The path is built segment by segment, so that no uid can change which document it names. */
  async #document(uid: string) {
    const firestore = await this.#connection.client()
    return firestore.collection('users').doc(uid).collection('tools').doc('usage')
  }
}

function keptIn(data: unknown): KeptUsage | undefined {
  return isKept(data) ? { day: data.day, text: data.text } : undefined
}
