import type { ErrorCode } from '@toolrack/contract'
import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Transaction,
} from 'firebase-admin/firestore'
import { KEY_BOUNDS, KEY_KEPT_MS, resultBytes } from '../../features/once/idempotency-keys.ts'
import type {
  CallKey,
  Claim,
  IdempotencyKeys,
  KeptCall,
  KeyBounds,
} from '../../features/once/idempotency-keys.ts'
import type { StoredOutcome } from '../../features/once/stored-outcome.ts'
import { inTransaction } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { OldestAbove } from './oldest-above.ts'

/** The most milliseconds that a call waits for each of its requests. */
const DEADLINE_MS = 5_000

/** The fields of a key that has ended, without its result. */
const KEY_FIELDS = ['hash', 'owner', 'hasEnded', 'leaseUntil', 'expiresAt']

/**
 * The keys of calls, below the document of the call's user: `users/{uid}/tools/idempotency/keys/{id}`. Firestore deletes a key
 * some time after its `expiresAt`; until then, a claim replaces it.
 */
export class FirestoreIdempotencyKeys implements IdempotencyKeys {
  readonly #connection: FirestoreConnection
  readonly #now: () => number

  readonly #bound: OldestAbove

  constructor(
    connection: FirestoreConnection,
    {
      bounds = KEY_BOUNDS,
      now = Date.now,
    }: { bounds?: Pick<KeyBounds, 'userBytes'>; now?: () => number } = {},
  ) {
    this.#connection = connection
    this.#now = now
    this.#bound = new OldestAbove(connection, {
      userBytes: bounds.userBytes,
      documentsOf: (uid) => this.#keysOf(uid),
      order: 'endedAt',
      fields: KEY_FIELDS,
      // The document without its result.
      drop: (batch, document) =>
        void batch.set(
          document.ref,
          Object.fromEntries(KEY_FIELDS.map((name) => [name, document.get(name)])),
        ),
    })
  }

  claim = (key: CallKey, claim: Claim): Promise<KeptCall | undefined> =>
    this.#change(key, (transaction, document) => this.#claim(transaction, document, claim))

  complete = async (key: CallKey, owner: string, outcome: StoredOutcome): Promise<void> => {
    const { kind, text } = outcome
    const bytes = resultBytes(outcome)
    const code = kind === 'failure' ? { code: outcome.code } : {}
    const hasKept = await this.#change(key, async (transaction, document) => {
      const found = await transaction.get(document)
      if (found.get('owner') !== owner || found.get('hasEnded') === true) return false
      const endedAt = new Date(this.#now())
      transaction.update(document, { kind, text, ...code, bytes, hasEnded: true, endedAt })
      return true
    })
    if (hasKept) await this.#bound.count(key.uid, bytes)
  }

  release = (key: CallKey, owner: string): Promise<void> =>
    this.#change(key, async (transaction, document) => {
      const found = await transaction.get(document)
      if (found.get('owner') === owner && found.get('hasEnded') !== true) transaction.delete(document)
    })

  async #claim(
    transaction: Transaction,
    document: DocumentReference,
    { hash, owner, leaseMs }: Claim,
  ): Promise<KeptCall | undefined> {
    const found = await transaction.get(document)
    const nowMs = this.#now()
    // If the answer to the first attempt's commit was lost, the second attempt finds its own claim.
    if (isKept(found, nowMs)) return found.get('owner') === owner ? undefined : keptCall(found, nowMs)
    const expiresAt = new Date(nowMs + KEY_KEPT_MS)
    transaction.set(document, { hash, owner, hasEnded: false, leaseUntil: nowMs + leaseMs, expiresAt })
    return undefined
  }

  /** Without turns: of many callers with one key only the first one writes, and the others only read. */
  async #change<T>(
    { uid, id }: CallKey,
    act: (transaction: Transaction, document: DocumentReference) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#connection.calls.within(DEADLINE_MS, async (signal) => {
        const document = (await this.#keysOf(uid)).doc(id)
        return inTransaction(document.firestore, signal, (transaction) => act(transaction, document))
      })
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The path is built segment by segment, so that no uid can change which collection it names. */
  async #keysOf(uid: string): Promise<CollectionReference> {
    const user = (await this.#connection.client()).collection('users').doc(uid)
    return user.collection('tools').doc('idempotency').collection('keys')
  }
}

function isKept(found: DocumentSnapshot, nowMs: number): boolean {
  const expiresAt = found.get('expiresAt') as { toMillis(): number } | undefined
  return expiresAt !== undefined && expiresAt.toMillis() > nowMs
}

function keptCall(found: DocumentSnapshot, nowMs: number): KeptCall {
  const hash = String(found.get('hash'))
  if (found.get('hasEnded') !== true)
    return { hash, state: Number(found.get('leaseUntil')) > nowMs ? 'running' : 'lost' }
  const kind = found.get('kind') as StoredOutcome['kind'] | undefined
  if (kind === undefined) return { hash, state: 'dropped' }
  const text = String(found.get('text'))
  if (kind === 'failure')
    return { hash, state: 'ended', outcome: { kind, text, code: found.get('code') as ErrorCode } }
  return { hash, state: 'ended', outcome: { kind, text } }
}
