import type { CollectionReference, QueryDocumentSnapshot } from 'firebase-admin/firestore'
import { LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/pipeline/invocation-logs.ts'
import type { InvocationLog, InvocationLogs, LogBounds } from '../../calls/pipeline/invocation-logs.ts'
import type { FirestoreConnection } from './firestore-connection.ts'

/** The most milliseconds that a call waits for the write of its log, and that a reader waits for a log. */
const DEADLINE_MS = 2_000
/** The most milliseconds that a call also waits for the check that removes old logs. */
const LOOK_MS = 5_000

/** An instance checks the sum of a user's bytes again after it has kept an eighth of the bound for this user. */
const LOOKS_PER_BOUND = 8

/** The most logs that one check removes. Even if all logs are as short as possible, fewer are kept between two checks. */
const REMOVED_MAX = 2_000
const REMOVED_AT_ONCE = 500

/** The most users whose kept bytes an instance remembers. For a forgotten user, it checks the sum with the next log. */
const USERS_MAX = 10_000

/**
 * The logs of calls, below the document of the call's user. Firestore deletes a log some time after its `expiresAt`. An instance
 * checks the sum of a user's logs with the first log that it keeps for the user, and then after each eighth of the bound. So a
 * user may exceed the bound: by at most an eighth of the bound and one log for each instance.
 */
export class FirestoreInvocationLogs implements InvocationLogs {
  readonly #connection: FirestoreConnection
  readonly #bounds: LogBounds
  readonly #now: () => number
  /** The bytes that each user may still print until the next check. */
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
    const bytesUntilLook = (this.#untilLook.get(uid) ?? 0) - bytes
    this.#remember(uid, bytesUntilLook)
    if (bytesUntilLook < 0) await this.#look(uid)
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

  /** Removes the oldest logs above the bound. Logs that are kept meanwhile cause no second check, unless this check fails. */
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

  /** Makes the user the newest one. If there are too many users, the oldest one is forgotten. */
  #remember(uid: string, bytesUntilLook: number): void {
    this.#untilLook.delete(uid)
    this.#untilLook.set(uid, bytesUntilLook)
    const [oldest = uid] = this.#untilLook.keys()
    if (this.#untilLook.size > USERS_MAX) this.#untilLook.delete(oldest)
  }

  /** The path is built segment by segment, so that no uid can change which collection it names. */
  async #logsOf(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('invocations').collection('logs')
  }
}

/**
 * Removes the oldest logs of one user until the remaining logs have at most `bytesMax` bytes. This costs one read for each
 * thousand logs, and about one more read and one removal for each removed log. The logs are chosen in one transaction, so that
 * instances that check at the same time choose the same logs.
 */
async function dropOldestLogs(logs: CollectionReference, bytesMax: number): Promise<void> {
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
      // If all logs had the same length, half of this number would be enough. If it is too low, the next check removes more.
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
