import type { CollectionReference } from 'firebase-admin/firestore'
import { LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs, LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { OldestAbove } from './oldest-above.ts'

/** The most milliseconds that a call waits for the write of its log, and that a reader waits for a log. */
const DEADLINE_MS = 2_000
/**
 * The logs of calls, below the document of the call's user. Firestore deletes a log some time after its `expiresAt`. The oldest
 * logs above a user's bound are deleted at once.
 */
export class FirestoreInvocationLogs implements InvocationLogs {
  readonly #connection: FirestoreConnection
  readonly #bound: OldestAbove
  readonly #now: () => number

  constructor(
    connection: FirestoreConnection,
    { bounds = LOG_BOUNDS, now = Date.now }: { bounds?: LogBounds; now?: () => number } = {},
  ) {
    this.#connection = connection
    this.#bound = new OldestAbove(connection, {
      userBytes: bounds.userBytes,
      documentsOf: (uid) => this.#logsOf(uid),
      order: 'expiresAt',
      fields: [],
      drop: (batch, log) => void batch.delete(log.ref),
    })
    this.#now = now
  }

  keep = async (uid: string, log: InvocationLog): Promise<void> => {
    const { invocationId, tool, at, text, truncated } = log
    const bytes = logBytes(log)
    const expiresAt = new Date(this.#now() + LOG_KEPT_MS)
    await this.#connection.calls.within(DEADLINE_MS, async () => {
      const logs = await this.#logsOf(uid)
      await logs.doc(invocationId).set({ tool, at, text, truncated, expiresAt, bytes })
    })
    await this.#bound.count(uid, bytes)
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    return this.#connection.calls.within(DEADLINE_MS, async () => {
      const found = await (await this.#logsOf(uid)).doc(invocationId).get()
      const expiresAt = found.get('expiresAt') as { toMillis(): number } | undefined
      if (!expiresAt || expiresAt.toMillis() <= this.#now()) return undefined
      const [tool = '', at = '', text = ''] = ['tool', 'at', 'text'].map((name) => String(found.get(name)))
      return { invocationId, tool, at, text, truncated: found.get('truncated') === true }
    })
  }

  close = (): Promise<void> => this.#connection.close()

  /** The path is built segment by segment, so that no uid can change which collection it names. */
  async #logsOf(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('invocations').collection('logs')
  }
}
