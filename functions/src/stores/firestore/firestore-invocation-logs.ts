import type { DocumentReference } from 'firebase-admin/firestore'
import { LOG_KEPT_MS } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs } from '../../calls/pipeline/invocation-logs.ts'
import type { FirestoreConnection } from './firestore-connection.ts'

/** How long a call waits for its log to be kept, or a reader for it. */
const DEADLINE_MS = 2_000

/** What calls have printed, below their user; Firestore deletes a document some time after its `expiresAt`. */
export class FirestoreInvocationLogs implements InvocationLogs {
  readonly #connection: FirestoreConnection
  readonly #now: () => number

  constructor(connection: FirestoreConnection, now: () => number = Date.now) {
    this.#connection = connection
    this.#now = now
  }

  keep = async (uid: string, { invocationId, tool, at, text, truncated }: InvocationLog): Promise<void> => {
    const expiresAt = new Date(this.#now() + LOG_KEPT_MS)
    await this.#connection.calls.within(DEADLINE_MS, async () => {
      const document = await this.#document(uid, invocationId)
      await document.set({ tool, at, text, truncated, expiresAt })
    })
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    return this.#connection.calls.within(DEADLINE_MS, async () => {
      const found = await (await this.#document(uid, invocationId)).get()
      const expiresAt = found.get('expiresAt') as { toMillis(): number } | undefined
      if (!expiresAt || expiresAt.toMillis() <= this.#now()) return undefined
      const [tool, at, text, truncated] = ['tool', 'at', 'text', 'truncated'].map(
        (name) => found.get(name) as unknown,
      )
      return {
        invocationId,
        tool: String(tool),
        at: String(at),
        text: String(text),
        truncated: truncated === true,
      }
    })
  }

  close = (): Promise<void> => this.#connection.close()

  /** Built segment by segment, so that no uid can lead elsewhere. */
  async #document(uid: string, invocationId: string): Promise<DocumentReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('invocations').collection('logs').doc(invocationId)
  }
}
