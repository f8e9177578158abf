import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore'
import { ARGUMENTS_KEPT_MS, eraseAtMs } from '../../features/approvals/approval.ts'
import type { Approval } from '../../features/approvals/approval.ts'
import type { ApprovalStore, PlannedApprovals } from '../../features/approvals/approval-store.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'

/** The most milliseconds that a call waits for a read, and for all attempts of a change. */
const READ_MS = 2_000
const CHANGE_MS = 5_000

/**
 * The approvals below the document of each user: all of them in `tools/approvals`, so that one transaction on one document decides
 * between two calls, and the arguments, which are larger, in its collection `arguments`. Firestore deletes both some time after
 * their `expiresAt`.
 */
export class FirestoreApprovalStore implements ApprovalStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
  }

  read = (uid: string): Promise<readonly Approval[]> =>
    this.#within(READ_MS, async () => approvalsIn(await (await this.#document(uid)).get()))

  arguments = (uid: string, id: string, nowMs: number): Promise<string | undefined> =>
    this.#within(READ_MS, async () => {
      const found = await argumentsOf(await this.#document(uid), id).get()
      const expiresAt = found.get('expiresAt') as { toMillis(): number } | undefined
      return expiresAt && expiresAt.toMillis() > nowMs ? String(found.get('text')) : undefined
    })

  change = <Result>(
    uid: string,
    nowMs: number,
    plan: (approvals: readonly Approval[]) => PlannedApprovals<Result>,
  ): Promise<Result> =>
    this.#changes.change(
      CHANGE_MS,
      () => this.#document(uid),
      async (transaction, document) => {
        const { result, change } = plan(approvalsIn(await transaction.get(document)))
        if (!change) return result
        const { approvals, put, dropped = [] } = change
        const endMs = eraseAtMs(approvals)
        const expiresAt = endMs === null ? null : new Date(endMs)
        if (approvals.length === 0) transaction.delete(document)
        else transaction.set(document, { approvals: JSON.stringify(approvals), expiresAt })
        for (const id of dropped) transaction.delete(argumentsOf(document, id))
        if (put) {
          const { id, text } = put
          const argumentsEnd = new Date(nowMs + ARGUMENTS_KEPT_MS)
          transaction.set(argumentsOf(document, id), { text, expiresAt: argumentsEnd })
        }
        return result
      },
    )

  async #within<Result>(ms: number, act: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.calls.within(ms, act)
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The path is built segment by segment, so that no uid can change which document it names. */
  async #document(uid: string): Promise<DocumentReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('approvals')
  }
}

function argumentsOf(document: DocumentReference, id: string): DocumentReference {
  return document.collection('arguments').doc(id)
}

function approvalsIn(document: DocumentSnapshot): readonly Approval[] {
  const text: unknown = document.get('approvals')
  return typeof text === 'string' ? (JSON.parse(text) as readonly Approval[]) : []
}
