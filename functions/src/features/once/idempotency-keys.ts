import { isJsonObject, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { put, remove, type Collection, type Planned, type Ref } from '../../documents/collection.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import type { CallOutcome } from '../../calls/call.ts'
import type { StoredOutcome } from './stored-outcome.ts'

/** How long the result of a call is promised to be kept. */
const REPLAYED_MS = 24 * 60 * 60 * 1_000
/**
 * The most milliseconds by which the clocks of two instances may differ. Keys are kept so much longer that they last for
 * REPLAYED_MS on every clock.
 */
const CLOCKS_DIFFER_MS = 60 * 60 * 1_000

/** The time for which a key is remembered after its claim. */
export const KEY_KEPT_MS = REPLAYED_MS + CLOCKS_DIFFER_MS

/**
 * Limits for each user. Above the limits for results, the oldest results are dropped. A key is never dropped: without it, a call
 * could run twice.
 */
export type KeyBounds = {
  /** The most bytes of the results of one user. */
  readonly userBytes: number
  /**
   * The most bytes of the results of all users together. If there are more, the oldest results of the user with the most bytes
   * are dropped. Not used with Firestore.
   */
  readonly allBytes: number
  /** The most keys of one user. If a user has as many, a new key is refused. Not used with Firestore. */
  readonly userKeys: number
}

/**
 * `userBytes` is enough for 23 of the largest results, which become a third longer when they are sealed. 100,000 keys in 25 hours
 * are more than one in a second.
 */
export const KEY_BOUNDS: KeyBounds = {
  userBytes: 8 * 1024 * 1024,
  allBytes: 256 * 1024 * 1024,
  userKeys: 100_000,
}

/** What a document keeps about a call with a key. The body of the document is the result, until it is dropped. */
type KeyedCall = {
  readonly hash: string
  readonly owner: string
  readonly leaseUntil: number
  readonly keptUntil: number
  /** The id of the process that runs the call. Only set if no other process uses the store. */
  readonly process?: string | undefined
  /** How the call has ended. */
  readonly kind?: StoredOutcome['kind']
  readonly code?: ErrorCode
  /** The approval for which the call waits, if its tool has failed. */
  readonly approval?: CallOutcome['approval']
}

function keysWithin({ userBytes, allBytes, userKeys }: KeyBounds): Collection<KeyedCall> {
  return {
    name: 'keys',
    owner: 'user',
    fields: isJsonObject as (value: unknown) => value is KeyedCall,
    hasBody: true,
    expires: ({ keptUntil }) => keptUntil,
    quota: {
      count: userKeys,
      bytes: userBytes,
      refuse: () => new ToolrackError('SERVICE_BUSY', tooManyKeys(userKeys)),
      dropsOldest: { allBytes },
    },
    waitMs: { read: 5_000, change: 5_000 },
  }
}

/** An idempotency key of a user. `id` is a hash of the key, so the key itself is in no store. */
export type CallKey = { readonly uid: string; readonly id: string }

export type Claim = {
  /** A hash of the call: its tool, its arguments and its session. */
  readonly hash: string
  /** The id of the call that claims the key. Only this call can complete or release the key. */
  readonly owner: string
  /** How many milliseconds the call has to end. After this time, it counts as lost. */
  readonly leaseMs: number
}

/**
 * What is kept for a key. `lost`: the lease is over, and the call has not ended. `dropped`: the call has ended, but its result is
 * no longer kept.
 */
export type KeptCall = { readonly hash: string } & (
  | { readonly state: 'running' | 'lost' | 'dropped' }
  | { readonly state: 'ended'; readonly outcome: StoredOutcome }
)

type Options = {
  readonly now: () => number
  readonly bounds?: KeyBounds
  /**
   * An id of this process. Only set if no other process uses the store: then calls that earlier processes have not ended are
   * lost.
   */
  readonly process?: string | undefined
}

/** The functions that a call needs. */
export type CallKeys = Pick<IdempotencyKeys, 'claim' | 'complete' | 'read' | 'release'>

/** Remembers the calls with a key. */
export class IdempotencyKeys {
  readonly #documents: Documents
  readonly #of: Collection<KeyedCall>
  readonly #now: () => number
  readonly #process: string | undefined

  constructor(documents: Documents, { now, bounds = KEY_BOUNDS, process }: Options) {
    this.#documents = documents
    this.#of = keysWithin(bounds)
    this.#now = now
    this.#process = process
  }

  /**
   * Claims a key for a call that begins now, in one transaction. If the key was free, the call has it now, and the result is
   * undefined. Otherwise changes nothing and resolves to what is kept for the key. Rejects with STORE_FAILED, STORE_BUSY or
   * STORE_FULL, or with SERVICE_BUSY if the user has too many keys. After such an error, do not run the call, but release the
   * key: the store may have claimed it nevertheless.
   */
  claim = async ({ uid, id }: CallKey, { hash, owner, leaseMs }: Claim): Promise<KeptCall | undefined> => {
    const nowMs = this.#now()
    const keptUntil = nowMs + KEY_KEPT_MS
    const fields = { hash, owner, leaseUntil: nowMs + leaseMs, keptUntil, process: this.#process }
    const kept = await this.#documents.claim(uid, this.#ref(id), fields)
    return kept && this.#keptCall(kept, nowMs)
  }

  /** What is kept for a key. Claims nothing. Undefined if the key is free. */
  read = async ({ uid, id }: CallKey): Promise<KeptCall | undefined> => {
    const [kept] = await this.#documents.read(uid, [this.#ref(id)])
    return kept && this.#keptCall(kept, this.#now())
  }

  /** Keeps the outcome of the call that has the key, even if its lease has ended. */
  complete = (key: CallKey, owner: string, outcome: StoredOutcome): Promise<void> =>
    this.#end(key, owner, (to, { fields }) => {
      const { kind, text } = outcome
      if (kind !== 'failure') return put(to, { ...fields, kind }, text)
      const { code, approval } = outcome
      return put(to, { ...fields, kind, code, ...(approval && { approval }) }, text)
    })

  /** Forgets the claim of a call that has run nothing. */
  release = (key: CallKey, owner: string): Promise<void> => this.#end(key, owner, remove)

  #end(
    { uid, id }: CallKey,
    owner: string,
    write: (to: Ref<KeyedCall>, kept: Kept<KeyedCall>) => ReturnType<typeof remove>,
  ): Promise<void> {
    const to = this.#ref(id)
    return this.#documents.change(uid, [to], ([kept]): Planned<void> => {
      if (kept?.fields.owner !== owner || kept.fields.kind !== undefined) return { result: undefined }
      return { result: undefined, writes: [write(to, kept)] }
    })
  }

  #ref(key: string): Ref<KeyedCall> {
    return { of: this.#of, key }
  }

  #keptCall({ fields, body: text }: Kept<KeyedCall>, nowMs: number): KeptCall {
    const { hash, leaseUntil, process, kind, code = 'INTERNAL', approval } = fields
    if (kind === undefined)
      return { hash, state: leaseUntil > nowMs && process === this.#process ? 'running' : 'lost' }
    if (text === undefined) return { hash, state: 'dropped' }
    const failure = { text, code, ...(approval && { approval }) }
    return { hash, state: 'ended', outcome: kind === 'failure' ? { kind, ...failure } : { kind, text } }
  }
}

function tooManyKeys(keys: number): string {
  return `You have used ${keys} idempotency keys, as many as are remembered of one user; nothing was run. Each is forgotten after 25 hours.`
}
