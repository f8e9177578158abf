import type { CollectionReference, Query } from 'firebase-admin/firestore'
import { factsText, keptCall, LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../calls/invocation-logs.ts'
import type {
  CallsQuery,
  FoundCall,
  InvocationLog,
  InvocationLogs,
  LogBounds,
} from '../../calls/invocation-logs.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { OldestAbove } from './oldest-above.ts'

/** The most milliseconds that a call waits until its log is written. A reader of logs waits no longer either. */
const DEADLINE_MS = 2_000
/**
 * Stores the logs of calls, below the document of the call's user. Firestore deletes a log some time after its `expiresAt`. If
 * the logs of a user have too many bytes, the oldest ones are deleted at once.
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
    const { invocationId, at, tool, outcome, code, workflow } = log
    const { text, truncated } = log.log ?? { text: '', truncated: false }
    const searched = { at, tool, outcome, code, workflow }
    const kept = { facts: factsText(log), text, truncated }
    const bytes = logBytes(log)
    const expiresAt = new Date(this.#now() + LOG_KEPT_MS)
    await this.#connection.calls.within(DEADLINE_MS, async () => {
      const logs = await this.#logsOf(uid)
      await logs.doc(invocationId).set({ ...searched, ...kept, expiresAt, bytes })
    })
    await this.#bound.count(uid, bytes)
  }

  find = async (uid: string, invocationId: string): Promise<InvocationLog | undefined> => {
    return this.#connection.calls.within(DEADLINE_MS, async () => {
      const found = await (await this.#logsOf(uid)).doc(invocationId).get()
      const expiresAt = found.get('expiresAt') as { toMillis(): number } | undefined
      if (!expiresAt || expiresAt.toMillis() <= this.#now()) return undefined
      const log = { text: String(found.get('text')), truncated: found.get('truncated') === true }
      return keptCall(String(found.get('facts')), log)
    })
  }

  page = async (uid: string, query: CallsQuery): Promise<readonly FoundCall[]> => {
    const oldest = new Date(this.#now() - LOG_KEPT_MS).toISOString()
    return this.#connection.calls.within(DEADLINE_MS, async () => {
      const found = await pageOf(await this.#logsOf(uid), query, oldest).get()
      return found.docs.map((call) => JSON.parse(String(call.get('facts'))) as FoundCall)
    })
  }

  close = (): Promise<void> => this.#connection.close()

  /** The path is built segment by segment, so that no uid can change which collection it names. */
  async #logsOf(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('invocations').collection('logs')
  }
}

/**
 * The query for one page of logs. `firestore.indexes.json` has an index for each filter, and Firestore combines these indexes.
 */
function pageOf(calls: CollectionReference, query: CallsQuery, oldest: string): Query {
  const { tool, outcome, workflow, since = '', before, limit } = query
  const isWhole = outcome === 'success' || outcome === 'failure'
  let found = calls.orderBy('at', 'desc').orderBy('__name__', 'desc')
  found = found.where('at', '>=', since > oldest ? since : oldest)
  if (tool !== undefined) found = found.where('tool', '==', tool)
  if (workflow !== undefined) found = found.where('workflow', '==', workflow)
  if (outcome !== undefined)
    found = isWhole ? found.where('outcome', '==', outcome) : found.where('code', '==', outcome)
  if (before) found = found.startAfter(before.at, before.invocationId)
  return found.select('facts').limit(limit)
}
