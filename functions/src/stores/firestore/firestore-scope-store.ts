import type { CollectionReference, DocumentReference } from 'firebase-admin/firestore'
import {
  SCOPE_KINDS,
  type PlannedScope,
  type ScopeOwner,
  type ScopeStore,
  type ScopeTotals,
} from '../../features/scopes/scope-store.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { restData } from './rest-data.ts'

type Data = Readonly<Record<string, unknown>>

/**
 * Stored scopes below the document of each user: the sums in `tools/scopes`, and one document for each owner in its collection
 * `items`. They are read by REST where layers are.
 */
export class FirestoreScopeStore implements ScopeStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
  }

  read = (uid: string, owner: ScopeOwner): Promise<string | undefined> =>
    this.#within(STORE_DEADLINES.readMs, async (signal) => {
      const { rest } = this.#connection
      if (!rest) return textIn((await itemOf(await this.#sums(uid), owner).get()).data())
      const [element] = await rest.ask({
        at: [],
        method: 'batchGet',
        body: { documents: [rest.name(['users', uid, 'tools', 'scopes', 'items', idOf(owner)])] },
        read: (one) => [one],
        signal,
      })
      if (element?.readTime === undefined) throw new Error('Firestore sent no time of the read')
      return element.found && textIn(restData(element.found.fields))
    })

  all = (uid: string) =>
    this.#within(STORE_DEADLINES.readMs, async () => {
      const { docs } = await itemsOf(await this.#sums(uid)).get()
      return docs.map((document) => {
        const data = document.data()
        return { owner: ownerIn(data), text: textIn(data) ?? '' }
      })
    })

  change = <Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (text: string | undefined, totals: ScopeTotals) => PlannedScope<Result>,
  ): Promise<Result> =>
    this.#changes.change(
      STORE_DEADLINES.writeMs,
      () => this.#sums(uid),
      async (transaction, sums, mark) => {
        const item = itemOf(sums, owner)
        const [ofUser, ofOwner] = await transaction.getAll(sums, item)
        const totals = totalsIn(ofUser?.data())
        const before = textIn(ofOwner?.data())
        const { text, result } = plan(before, totals)
        if (text === before) return result
        if (text === undefined) transaction.delete(item)
        else transaction.set(item, { kind: owner.kind, id: owner.id, text })
        transaction.set(sums, {
          scopes: totals.scopes + count(text) - count(before),
          bytes: totals.bytes + bytesOf(text) - bytesOf(before),
          ...mark,
        })
        return result
      },
    )

  async #within<Result>(ms: number, act: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.calls.within(ms, act)
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The path is built segment by segment, so that no uid can change which document it names. */
  async #sums(uid: string): Promise<DocumentReference> {
    const firestore = await this.#connection.client()
    return firestore.collection('users').doc(uid).collection('tools').doc('scopes')
  }
}

function itemsOf(sums: DocumentReference): CollectionReference {
  return sums.collection('items')
}

function itemOf(sums: DocumentReference, owner: ScopeOwner): DocumentReference {
  return itemsOf(sums).doc(idOf(owner))
}

/** The id of a document must have no slash, and an owner's id may have one. */
function idOf({ kind, id }: ScopeOwner): string {
  return `${kind}-${Buffer.from(id).toString('base64url')}`
}

function ownerIn({ kind, id }: Data): ScopeOwner {
  const known = SCOPE_KINDS.find((one) => one === kind)
  if (!known || typeof id !== 'string') throw new Error('the document of a scope names no owner')
  return { kind: known, id }
}

/** The text of a document. A document without one is refused, because a list must not go on without its scope. */
function textIn(data: Data | undefined): string | undefined {
  if (!data) return undefined
  const { text } = data
  if (typeof text !== 'string') throw new Error('the document of a scope has no text')
  return text
}

function totalsIn({ scopes, bytes }: Data = {}): ScopeTotals {
  return { scopes: Number(scopes ?? 0), bytes: Number(bytes ?? 0) }
}

function count(text: string | undefined): number {
  return text === undefined ? 0 : 1
}

function bytesOf(text = ''): number {
  return Buffer.byteLength(text)
}
