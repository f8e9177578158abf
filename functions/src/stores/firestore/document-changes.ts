import { randomUUID } from 'node:crypto'
import type { DocumentReference, Firestore, Transaction } from 'firebase-admin/firestore'
import type { FirestoreConnection } from './firestore-connection.ts'
import { errorOfRead, firestoreError, unconfirmed } from './firestore-error.ts'
import { Turns } from './turns.ts'

/** The name of the field with the id of the last change that wrote the document. */
const WRITE_ID = 'writeId'

/** A field of the document that `act` writes. A repeated attempt recognizes by this field what an earlier attempt has written. */
export type WriteMark = { readonly [WRITE_ID]: string }

/**
 * The most attempts of one transaction. An attempt fails if another instance changes the same documents. If the last attempt
 * fails, the change rejects with STORE_BUSY.
 */
const ATTEMPTS_MAX = 20

/**
 * Changes documents, each in a transaction. If this process changes a document several times, it does so one after the other.
 * Otherwise the transactions would fail because of each other, and wait for a second or more before their next attempt.
 */
export class DocumentChanges {
  readonly #connection: FirestoreConnection
  readonly #turns = new Turns()

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
  }

  /**
   * Runs `act` in a transaction and returns its result. Either all of its changes are committed or none. `act` runs again if
   * another instance was faster. It also runs again if the answer to the commit was lost, and the document does not have `mark`.
   * The wait for earlier changes may take `ms`, and then all attempts together may take `ms`. Rejects with STORE_BUSY,
   * STORE_FAILED, or the error of `act`.
   */
  async change<Result>(
    ms: number,
    find: () => Promise<DocumentReference>,
    act: (transaction: Transaction, document: DocumentReference, mark: WriteMark) => Promise<Result>,
  ): Promise<Result> {
    const { calls } = this.#connection
    const mark: WriteMark = { [WRITE_ID]: randomUUID() }
    let sent: { readonly result: Result } | undefined
    try {
      const document = await calls.within(ms, find)
      const once = async (transaction: Transaction): Promise<Result> => {
        if (sent && (await transaction.get(document)).get(WRITE_ID) === mark[WRITE_ID]) return sent.result
        const result = await act(transaction, document, mark)
        sent = { result }
        return result
      }
      return await this.#turns.take(document.path, ms, () =>
        calls.within(ms, (signal) => inTransaction(document.firestore, signal, once)),
      )
    } catch (error) {
      throw sent ? unconfirmed(error) : firestoreError(error)
    }
  }
}

/**
 * Runs a transaction. Begins no new attempt after the signal is aborted, because a write that was reported as failed must not
 * happen later.
 */
export function inTransaction<Result>(
  firestore: Firestore,
  signal: AbortSignal,
  act: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  async function once(transaction: Transaction): Promise<Result> {
    signal.throwIfAborted()
    const result = await act(transaction).catch((error: unknown) => {
      throw errorOfRead(error)
    })
    signal.throwIfAborted()
    return result
  }
  return firestore.runTransaction(once, { maxAttempts: ATTEMPTS_MAX })
}
