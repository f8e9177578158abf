import { isToolrackError } from '@toolrack/contract'
import type { CollectionReference } from 'firebase-admin/firestore'
import { endOf, type Session, type SessionHead } from '../../features/sessions/session.ts'
import {
  headIn,
  refuseFull,
  SESSION_BOUNDS,
  sessionBytes,
  sessionIn,
  sessionTexts,
  type PlannedSession,
  type SessionStore,
  type SessionSums,
} from '../../features/sessions/session-store.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { restData } from './rest-data.ts'

/** How many sessions that are over one change erases. */
const ERASED_AT_ONCE = 200

type Texts = { readonly head: string; readonly tools: string }

/**
 * The sessions of a user in `users/{uid}/tools/sessions/kept/{id}`. They are read by REST where layers are. Firestore deletes each
 * some time after its `expiresAt`. The sums are counted before a write and not in its transaction, so simultaneous writes can exceed
 * the bounds.
 */
export class FirestoreSessionStore implements SessionStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges
  readonly #bounds: SessionSums

  constructor(connection: FirestoreConnection, bounds = SESSION_BOUNDS) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
    this.#bounds = bounds
  }

  open = async (): Promise<void> => {
    if (!this.#connection.rest) await this.#connection.client().catch(() => undefined)
  }

  read = (uid: string, id: string): Promise<Session | undefined> =>
    this.#within(STORE_DEADLINES.readMs, async (signal) => {
      const texts = textsIn(await this.#data(uid, id, signal))
      return texts && sessionIn(texts.head, texts.tools)
    })

  page = (uid: string, after: string | undefined, limit: number): Promise<readonly SessionHead[]> =>
    this.#within(STORE_DEADLINES.readMs, async () => {
      const { FieldPath } = await import('@google-cloud/firestore')
      const sorted = (await this.#sessions(uid)).orderBy(FieldPath.documentId()).select('head')
      const found = await (after === undefined ? sorted : sorted.startAfter(after)).limit(limit).get()
      return found.docs.map((one) => headIn(String(one.get('head'))))
    })

  change = async <Result>(
    uid: string,
    id: string,
    nowMs: number,
    plan: (session: Session | undefined) => PlannedSession<Result>,
  ): Promise<Result> => {
    try {
      return await this.#change(uid, id, plan)
    } catch (error) {
      if (!isToolrackError(error) || error.code !== 'SESSIONS_FULL' || !(await this.#erase(uid, nowMs)))
        throw error
      return this.#change(uid, id, plan)
    }
  }

  #change<Result>(
    uid: string,
    id: string,
    plan: (session: Session | undefined) => PlannedSession<Result>,
  ): Promise<Result> {
    return this.#changes.change(
      STORE_DEADLINES.writeMs,
      async () => (await this.#sessions(uid)).doc(id),
      async (transaction, document, mark) => {
        const found = await transaction.get(document)
        const before = textsIn(found.data())
        const { result, session } = plan(before && sessionIn(before.head, before.tools))
        if (session === null) transaction.delete(document)
        if (!session) return result
        const texts = sessionTexts(session)
        const bytes = sessionBytes(texts)
        const bytesBefore = before && sessionBytes(before)
        if (bytes > (bytesBefore ?? 0))
          refuseFull(await sumsOf(document.parent), bytesBefore, bytes, this.#bounds)
        transaction.set(document, { ...texts, bytes, expiresAt: new Date(endOf(session)), ...mark })
        return result
      },
    )
  }

  /** Erases sessions that are over. True if there were any. */
  #erase(uid: string, nowMs: number): Promise<boolean> {
    return this.#within(STORE_DEADLINES.writeMs, async () => {
      const sessions = await this.#sessions(uid)
      const over = sessions.where('expiresAt', '<=', new Date(nowMs)).select().limit(ERASED_AT_ONCE)
      const found = await over.get()
      const batch = sessions.firestore.batch()
      for (const { ref, updateTime } of found.docs) batch.delete(ref, { lastUpdateTime: updateTime })
      if (!found.empty) await batch.commit()
      return !found.empty
    })
  }

  async #data(uid: string, id: string, signal: AbortSignal) {
    const { rest } = this.#connection
    if (!rest) return (await (await this.#sessions(uid)).doc(id).get()).data()
    const [element] = await rest.ask({
      at: [],
      method: 'batchGet',
      body: { documents: [rest.name(['users', uid, 'tools', 'sessions', 'kept', id])] },
      read: (one) => [one],
      signal,
    })
    if (element?.readTime === undefined) throw new Error('Firestore sent no time of the read')
    return element.found && restData(element.found.fields)
  }

  async #within<Result>(ms: number, act: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.calls.within(ms, act)
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The path is built segment by segment, so that no uid can change which document it names. */
  async #sessions(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('sessions').collection('kept')
  }
}

async function sumsOf(sessions: CollectionReference): Promise<SessionSums> {
  const { AggregateField } = await import('@google-cloud/firestore')
  const wanted = { sessions: AggregateField.count(), bytes: AggregateField.sum('bytes') }
  const { sessions: count, bytes } = (await sessions.where('bytes', '>', 0).aggregate(wanted).get()).data()
  return { sessions: count, bytes }
}

function textsIn(data: Readonly<Record<string, unknown>> | undefined): Texts | undefined {
  if (!data) return undefined
  const { head, tools } = data
  if (typeof head !== 'string' || typeof tools !== 'string')
    throw new Error('the document of a session has no texts')
  return { head, tools }
}
