import type { CollectionReference } from 'firebase-admin/firestore'
import { LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs, LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { dropOldestLogs } from './oldest-logs.ts'

/** How long a call waits for its log to be kept, or a reader for it; and a call whose turn it is to look for too many. */
const DEADLINE_MS = 2_000
const LOOK_MS = 5_000

/** An instance looks at what a user has after each eighth of the bound that it has kept for them. */
const LOOKS_PER_BOUND = 8

/** Users of whom an instance knows what it has kept since its last look. One who is forgotten is looked at with the next log. */
const USERS_MAX = 10_000

/**
 * What calls have printed, below their user; Firestore deletes a document some time after its `expiresAt`. Nothing is counted
 * with each log: an instance asks for the sum of a user's logs with the first log that it keeps for them, and then after each
 * eighth of the bound. So a user has at most the bound and, for each instance, an eighth of it and one log.
 */
export class FirestoreInvocationLogs implements InvocationLogs {
  readonly #connection: FirestoreConnection
  readonly #bounds: LogBounds
  readonly #now: () => number
  /** The bytes of each user until the next look. */
  readonly #untilLook = new Map<string, number>()

  constructor(
    connection: FirestoreConnection,
    { bounds = LOG_BOUNDS, now = Date.now }: { bounds?: LogBounds; now?: () => number } = {},
  ) {
    this.#connection = connection
    this.#bounds = bounds
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
    const left = (this.#untilLook.get(uid) ?? 0) - bytes
    this.#remember(uid, left)
    if (left < 0) await this.#look(uid)
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    return this.#connection.calls.within(DEADLINE_MS, async () => {
      const found = await (await this.#logsOf(uid)).doc(invocationId).get()
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

  /** Looks once for all logs that come meanwhile; the next one looks again where this fails. */
  async #look(uid: string): Promise<void> {
    const { userBytes } = this.#bounds
    this.#remember(uid, userBytes / LOOKS_PER_BOUND)
    try {
      await this.#connection.calls.within(LOOK_MS, async () =>
        dropOldestLogs(await this.#logsOf(uid), userBytes),
      )
    } catch (error) {
      this.#untilLook.delete(uid)
      throw error
    }
  }

  /** As the newest; the one that is the oldest then is forgotten. */
  #remember(uid: string, left: number): void {
    this.#untilLook.delete(uid)
    this.#untilLook.set(uid, left)
    if (this.#untilLook.size <= USERS_MAX) return
    const [oldest] = this.#untilLook.keys()
    if (oldest !== undefined) this.#untilLook.delete(oldest)
  }

  /** Built segment by segment, so that no uid can lead elsewhere. */
  async #logsOf(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('invocations').collection('logs')
  }
}
