import { LRUCache } from 'lru-cache'
import type { LimitState } from '../../calls/call.ts'
import type { AppliedLimit, AppliedLimits } from './applied-limits.ts'
import { LeasedBucket } from './leased-bucket.ts'
import type { Leases } from './leases.ts'
import { Places } from './places.ts'
import { TokenBucket, WINDOW_MS } from './token-bucket.ts'

/**
 * The most buckets in memory, of about 300 bytes each. If there are more, the bucket that was not used for longest is forgotten,
 * and its user has a full one again.
 */
export const BUCKETS_MAX = 100_000

/** Seconds after which a call that was refused because others run may be tried again. Nobody knows when one of them ends. */
const PLACE_SECONDS = 1

/** The caller of a call, and the call that made it. */
export type LimitedCall = {
  readonly uid: string
  readonly invocationId: string
  readonly parentInvocationId: string | null
}

export type Entered =
  | { readonly leave: () => void; readonly states: readonly LimitState[] }
  | { readonly refusal: string; readonly retryAfterSeconds: number; readonly states: readonly LimitState[] }

type Parts = {
  /** The leases that instances share. Undefined if this process is the only one. */
  readonly leases: Leases | undefined
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number
}

type Bucket = TokenBucket | LeasedBucket

/** Counts calls, and decides whether a call is within its limits. */
export class CallLimiter {
  readonly #parts: Parts
  readonly #places = new Places()
  readonly #buckets: LRUCache<string, Bucket>
  #refused = 0

  constructor(parts: Parts) {
    this.#parts = parts
    // A bucket that was not used for a minute is full, so it need not be kept.
    this.#buckets = new LRUCache({
      max: BUCKETS_MAX,
      ttl: WINDOW_MS,
      updateAgeOnGet: true,
      // A test has a clock that waits for nothing.
      ttlResolution: 0,
      perf: { now: parts.clock },
    })
  }

  /** Numbers for the operator: buckets in memory, and calls that were refused since the start. */
  get state(): { readonly buckets: number; readonly refused: number } {
    return { buckets: this.#buckets.size, refused: this.#refused }
  }

  /**
   * Counts a call under all its limits, or under none if one of them refuses it. Not a promise unless the call must wait for a
   * lease. Whoever entered calls `leave` once, when the call has ended.
   */
  enter(call: LimitedCall, applied: AppliedLimits): Entered | Promise<Entered> {
    const nowMs = this.#parts.clock()
    const waits = this.#leasesFor(call, applied, nowMs)
    return waits.length === 0 ? this.#decide(call, applied, nowMs) : this.#enterLater(call, applied, waits)
  }

  async #enterLater(
    call: LimitedCall,
    applied: AppliedLimits,
    first: readonly Promise<void>[],
  ): Promise<Entered> {
    // Ends, because a bucket gives nothing to wait for after the store had fewer calls than were wanted.
    for (let waits = first; waits.length > 0; waits = this.#leasesFor(call, applied, this.#parts.clock()))
      await Promise.all(waits)
    return this.#decide(call, applied, this.#parts.clock())
  }

  /** The leases that the call must wait for, because a bucket of this instance is empty. */
  #leasesFor(call: LimitedCall, { rates }: AppliedLimits, nowMs: number): readonly Promise<void>[] {
    if (!this.#parts.leases) return NONE
    return rates.flatMap((limit) => {
      const bucket = this.#bucket(call.uid, limit, nowMs)
      return bucket instanceof LeasedBucket && bucket.left(nowMs) < 1 ? (bucket.more(nowMs) ?? NONE) : NONE
    })
  }

  #decide(call: LimitedCall, { rates, atOnce }: AppliedLimits, nowMs: number): Entered {
    const { uid, invocationId, parentInvocationId } = call
    const limited = rates.map((limit) => ({ limit, bucket: this.#bucket(uid, limit, nowMs) }))
    const empty = limited
      .filter(({ bucket }) => bucket.left(nowMs) < 1)
      .map(({ limit, bucket }) => ({ limit, waitMs: bucket.nextMs(nowMs) }))
      .toSorted((a, b) => b.waitMs - a.waitMs)
      .at(0)
    const places = atOnce.map((limit) => ({ ...limit, key: `${uid} ${limit.key}`, places: limit.max }))
    const needed = this.#places.needed(places, parentInvocationId)
    const full = needed.find(({ key, max }) => this.#places.running(key) >= max)
    const isRefused = empty !== undefined || full !== undefined
    if (!isRefused) for (const { bucket } of limited) bucket.take(nowMs)
    const leave = isRefused ? undefined : this.#places.take(needed, invocationId, parentInvocationId)
    const states = [
      ...limited.map(({ limit, bucket }) => rateState(limit, bucket, nowMs)),
      ...places.map(({ name, key, max }) => ({
        name: `${name}-at-once`,
        quota: max,
        left: Math.max(0, max - this.#places.running(key)),
      })),
    ]
    if (leave) return { leave, states }
    this.#refused += 1
    if (empty) {
      const retryAfterSeconds = Math.max(1, Math.ceil(empty.waitMs / 1_000))
      return { refusal: tooManyCalls(empty.limit, retryAfterSeconds), retryAfterSeconds, states }
    }
    return { refusal: tooManyAtOnce(full), retryAfterSeconds: PLACE_SECONDS, states }
  }

  #bucket(uid: string, { key, max }: AppliedLimit, nowMs: number): Bucket {
    const { leases } = this.#parts
    const id = `${uid} ${key}`
    const known = this.#buckets.get(id)
    if (known) {
      known.set(max, nowMs)
      return known
    }
    const made = leases ? new LeasedBucket(leases, { uid, id: key }, max) : new TokenBucket(max, nowMs)
    this.#buckets.set(id, made)
    return made
  }
}

const NONE: readonly never[] = []

function rateState({ name, max }: AppliedLimit, bucket: Bucket, nowMs: number): LimitState {
  const left = bucket instanceof LeasedBucket ? bucket.known(nowMs) : bucket.left(nowMs)
  return {
    name,
    quota: max,
    left: Math.floor(left),
    windowSeconds: WINDOW_MS / 1_000,
    nextSeconds: Math.ceil(bucket.nextMs(nowMs) / 1_000),
  }
}

function tooManyCalls({ max, says }: AppliedLimit, seconds: number): string {
  const again = seconds === 1 ? 'a second' : `${seconds} seconds`
  return `A limit is reached: ${counted(max)} a minute ${says}. Nothing was run; try again in ${again}.`
}

function tooManyAtOnce(limit: AppliedLimit | undefined): string {
  const { max = 0, says = '' } = limit ?? {}
  return `A limit is reached: ${counted(max)} at once ${says}. Nothing was run; try again when another call has ended.`
}

function counted(max: number): string {
  return max === 1 ? '1 call' : `${max.toLocaleString('en')} calls`
}
