import { ToolrackError, type ErrorCode } from '@toolrack/contract'
import type { DatabaseSync } from 'node:sqlite'
import { KEY_BOUNDS, KEY_KEPT_MS, resultBytes } from '../../features/once/idempotency-keys.ts'
import type {
  CallKey,
  Claim,
  IdempotencyKeys,
  KeptCall,
  KeyBounds,
} from '../../features/once/idempotency-keys.ts'
import type { StoredOutcome } from '../../features/once/stored-outcome.ts'
import { inTransactionWhenFree, prepareAll } from './transaction.ts'

/** The most keys that one claim forgets, so that no claim takes long. */
const FORGOTTEN_AT_ONCE = 100

const SQL = {
  forget: `DELETE FROM call_keys WHERE number IN
    (SELECT number FROM call_keys WHERE kept_until <= ? ORDER BY kept_until LIMIT ${FORGOTTEN_AT_ONCE})`,
  forgetThis: 'DELETE FROM call_keys WHERE uid = ? AND id = ? AND kept_until <= ?',
  find: `SELECT hash, owner, has_ended AS hasEnded, lease_until AS leaseUntil, kind, code, text
    FROM call_keys LEFT JOIN call_results ON call = call_keys.number WHERE call_keys.uid = ? AND id = ?`,
  sums: 'SELECT keys, bytes FROM call_key_sums WHERE uid = ?',
  claim: 'INSERT INTO call_keys (uid, id, hash, owner, lease_until, kept_until) VALUES (?, ?, ?, ?, ?, ?)',
  end: 'UPDATE call_keys SET has_ended = 1 WHERE uid = ? AND id = ? AND owner = ? AND has_ended = 0 RETURNING number',
  keep: 'INSERT INTO call_results (call, uid, kind, code, text, bytes) VALUES (?, ?, ?, ?, ?, ?)',
  release: 'DELETE FROM call_keys WHERE uid = ? AND id = ? AND owner = ? AND has_ended = 0',
  wholeSum: 'SELECT bytes FROM call_results_sum',
  userWithMost: 'SELECT uid FROM call_key_sums ORDER BY bytes DESC LIMIT 1',
  dropOldest: `DELETE FROM call_results WHERE number =
    (SELECT number FROM call_results WHERE uid = ? ORDER BY number LIMIT 1) RETURNING bytes`,
  endLeases: 'UPDATE call_keys SET lease_until = 0 WHERE has_ended = 0',
} as const

type Row = {
  readonly hash: string
  readonly hasEnded: number
  readonly leaseUntil: number
  readonly kind: StoredOutcome['kind'] | null
  readonly code: ErrorCode | null
  readonly text: string | null
}

type Options = { readonly bounds?: KeyBounds; readonly now?: () => number; readonly busyWaitMs?: number }

/** The keys of calls in the database of what governs calls. */
export class SqliteIdempotencyKeys implements IdempotencyKeys {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareKeys>
  readonly #bounds: KeyBounds
  readonly #now: () => number
  readonly #busyWaitMs: number | undefined

  constructor(database: DatabaseSync, { bounds = KEY_BOUNDS, now = Date.now, busyWaitMs }: Options = {}) {
    this.#database = database
    this.#statements = prepareKeys(database)
    this.#bounds = bounds
    this.#now = now
    this.#busyWaitMs = busyWaitMs
  }

  claim = (key: CallKey, claim: Claim): Promise<KeptCall | undefined> =>
    this.#write(() => this.#claim(key, claim))

  complete = (key: CallKey, owner: string, outcome: StoredOutcome): Promise<void> =>
    this.#write(() => this.#complete(key, owner, outcome))

  release = ({ uid, id }: CallKey, owner: string): Promise<void> =>
    this.#write(() => void this.#statements.release.run(uid, id, owner))

  /** Ends the leases of all calls that have not ended. Only for a start, when no other process uses the database. */
  endLeases = (): Promise<void> => this.#write(() => void this.#statements.endLeases.run())

  #write<T>(act: () => T): Promise<T> {
    return inTransactionWhenFree(this.#database, 'IMMEDIATE', act, this.#busyWaitMs)
  }

  #claim({ uid, id }: CallKey, { hash, owner, leaseMs }: Claim): KeptCall | undefined {
    const { forget, forgetThis, find, sums, claim } = this.#statements
    const nowMs = this.#now()
    forgetThis.run(uid, id, nowMs)
    forget.run(nowMs)
    const row = find.get(uid, id) as Row | undefined
    if (row) return keptCall(row, nowMs)
    const { keys = 0 } = (sums.get(uid) ?? {}) as { keys?: number }
    if (keys >= this.#bounds.userKeys)
      throw new ToolrackError('SERVICE_BUSY', tooManyKeys(this.#bounds.userKeys))
    claim.run(uid, id, hash, owner, nowMs + leaseMs, nowMs + KEY_KEPT_MS)
    return undefined
  }

  #complete({ uid, id }: CallKey, owner: string, outcome: StoredOutcome): void {
    const { end, keep, sums, wholeSum, dropOldest, userWithMost } = this.#statements
    const ended = end.get(uid, id, owner) as { number: number } | undefined
    if (!ended) return
    const bytes = resultBytes(outcome)
    const { userBytes, allBytes } = this.#bounds
    while (sum(sums.get(uid)) + bytes > userBytes && dropOldest.get(uid)) continue
    while (sum(wholeSum.get()) + bytes > allBytes) {
      const user = userWithMost.get() as { uid: string } | undefined
      if (!user || !dropOldest.get(user.uid)) break
    }
    const code = outcome.kind === 'failure' ? outcome.code : null
    keep.run(ended.number, uid, outcome.kind, code, outcome.text, bytes)
  }
}

function prepareKeys(database: DatabaseSync) {
  return prepareAll(database, SQL)
}

function keptCall({ hash, hasEnded, leaseUntil, kind, code, text }: Row, nowMs: number): KeptCall {
  if (hasEnded === 0) return { hash, state: leaseUntil > nowMs ? 'running' : 'lost' }
  if (kind === null || text === null) return { hash, state: 'dropped' }
  if (kind === 'failure') return { hash, state: 'ended', outcome: { kind, text, code: code ?? 'INTERNAL' } }
  return { hash, state: 'ended', outcome: { kind, text } }
}

function sum(row: unknown): number {
  return (row as { bytes: number } | undefined)?.bytes ?? 0
}

function tooManyKeys(keys: number): string {
  return `You have used ${keys} idempotency keys, as many as are remembered of one user; nothing was run. Each is forgotten after 25 hours.`
}
