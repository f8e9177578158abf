import type { StoredOutcome } from './stored-outcome.ts'

/** The time for which a result is promised. */
const REPLAYED_MS = 24 * 60 * 60 * 1_000
/** The clocks of two instances may differ by this much, and a key is still not forgotten before REPLAYED_MS. */
const CLOCKS_DIFFER_MS = 60 * 60 * 1_000

/** The time for which a key is remembered after its claim. */
export const KEY_KEPT_MS = REPLAYED_MS + CLOCKS_DIFFER_MS

/** At the limits, the oldest results are dropped, but never a key: without its key, a call could run twice. */
export type KeyBounds = {
  /** UTF-8 bytes of the results of one user. */
  readonly userBytes: number
  /** For all users together. Above it, the user with the most bytes loses the oldest results. Firestore does not use it. */
  readonly allBytes: number
  /** The keys of one user. Above it, a new key is refused. Firestore does not use it. */
  readonly userKeys: number
}

/** `userBytes` is enough for 23 of the largest results, which are a third longer when they are sealed. 100,000 keys in 25 hours are more than one in a second. */
export const KEY_BOUNDS: KeyBounds = {
  userBytes: 8 * 1024 * 1024,
  allBytes: 256 * 1024 * 1024,
  userKeys: 100_000,
}

/** Bytes that are counted for a result in addition to its text, so that many small results count too. */
const RESULT_RECORD_BYTES = 256

/** The bytes that a kept result counts. */
export function resultBytes({ text }: StoredOutcome): number {
  return Buffer.byteLength(text) + RESULT_RECORD_BYTES
}

/** A key of one user. `id` is a hash of the key, so that no store has the key itself. */
export type CallKey = { readonly uid: string; readonly id: string }

export type Claim = {
  /** A hash of what is called. */
  readonly hash: string
  /** The id of the call that claims. Only it can end the claim. */
  readonly owner: string
  /** The milliseconds after which the claim of a call that has not ended counts as lost. */
  readonly leaseMs: number
}

/** What is kept for a key. `lost`: the lease is over, and the call has not ended. `dropped`: the result is not kept any more. */
export type KeptCall = { readonly hash: string } & (
  | { readonly state: 'running' | 'lost' | 'dropped' }
  | { readonly state: 'ended'; readonly outcome: StoredOutcome }
)

/** Remembers the calls with a key. Every store passes `test/support/idempotency-keys.contract.ts`. */
export type IdempotencyKeys = {
  /**
   * Claims a key for a call that begins now, in one transaction. Resolves to undefined if the key was free, and now is the claim's.
   * Otherwise changes nothing and resolves to what is kept for the key. Rejects with STORE_FAILED, STORE_BUSY or STORE_FULL, or
   * with SERVICE_BUSY if the user has too many keys; then the caller must not run, and releases the key, which the store may have
   * claimed nevertheless.
   */
  readonly claim: (key: CallKey, claim: Claim) => Promise<KeptCall | undefined>
  /** Keeps the outcome of the owner's call, also after its lease. */
  readonly complete: (key: CallKey, owner: string, outcome: StoredOutcome) => Promise<void>
  /** Forgets the claim of a call that has run nothing. */
  readonly release: (key: CallKey, owner: string) => Promise<void>
}
