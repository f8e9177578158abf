import type { Leases } from './leases.ts'
import { TokenBucket, WINDOW_MS } from './token-bucket.ts'
import { withinMs } from '../../within-ms.ts'

/**
 * The part of a limit that an instance leases at a time. Smaller blocks are more exact, and cost more writes: with a tenth, a user
 * at the limit costs ten writes a minute, whatever the limit is. An instance that is killed loses at most one block.
 */
const BLOCKS = 10
/**
 * The milliseconds after which an instance asks again if the store had fewer calls than it wanted, or could not be asked. A block
 * comes back in this time. So an instance never writes more often than this for a user who sends too much.
 */
export const ASK_AGAIN_MS = WINDOW_MS / BLOCKS

/**
 * Milliseconds that a call waits for a lease. After that, this instance keeps the limit alone until the lease has come, so a slow
 * store stops no call. Two instances that change a document at once can make each other wait for longer.
 */
const PATIENCE_MS = 1_000

/**
 * A bucket of calls that several instances share through the store. It has calls that were leased, and leases more in the
 * background when half of them are used. If the store cannot be asked, this instance alone keeps the limit.
 */
export class LeasedBucket {
  readonly #leases: Leases
  readonly #key: { readonly uid: string; readonly id: string }
  #quota: number
  /** Leased calls that were not made yet. After a change of the limit it may have a fraction, like the other counts. */
  #leased = 0
  /**
   * Calls that this instance may allow before it asks the store for the first time: half a block. So a user who makes a few calls
   * costs no write.
   */
  #free: number
  /** Calls that were made on `#free`, or while this instance was alone. The next lease pays for them. */
  #owed = 0
  /** Calls that wait for a lease. */
  #waiting = 0
  #asking: Promise<void> | undefined
  #askAgainMs = -Infinity
  /** The calls that the store had after the last lease. Other instances may have taken them since. */
  #inStore: number
  /** Takes the place of the store while it cannot be asked. */
  #alone: TokenBucket | undefined

  constructor(leases: Leases, key: { readonly uid: string; readonly id: string }, quota: number) {
    this.#leases = leases
    this.#key = key
    this.#quota = quota
    this.#free = freeOf(quota)
    this.#inStore = quota
  }

  /** Changes the limit. As in a `TokenBucket`, the same part of it stays used. */
  set(quota: number, nowMs: number): void {
    if (quota === this.#quota) return
    // A higher limit may have calls left that the store could not give before.
    if (quota > this.#quota) this.#askAgainMs = -Infinity
    const scale = quota / this.#quota
    this.#quota = quota
    this.#leased *= scale
    this.#owed *= scale
    this.#inStore *= scale
    this.#free = Math.min(this.#free * scale, freeOf(quota))
    this.#alone?.set(quota, nowMs, blockOf(quota))
  }

  /** How many calls this instance may allow now. */
  left(nowMs: number): number {
    return this.#alone ? this.#alone.left(nowMs) : this.#leased + this.#free
  }

  /** How many calls are left as far as this instance knows, counting those in the store. */
  known(nowMs: number): number {
    return Math.min(
      this.#quota,
      this.left(nowMs) + (this.#alone ? 0 : Math.max(0, this.#inStore - this.#owed)),
    )
  }

  take(nowMs: number): void {
    if (this.#leased > 0 && !this.#alone) this.#leased -= 1
    else {
      if (this.#alone) this.#alone.take()
      else this.#free -= 1
      // After a long time without the store, a user need not pay for more than what another instance may have been short of.
      this.#owed = Math.min(this.#owed + 1, 2 * blockOf(this.#quota))
    }
    const half = (this.#owed > 0 && this.#leased === 0 ? freeOf(this.#quota) : blockOf(this.#quota)) / 2
    if (this.left(nowMs) < half) void this.#ask(nowMs)
  }

  /** Waits for a lease. Undefined if there is nothing to wait for, because the store has just said that no call is left. */
  more(nowMs: number): Promise<void> | undefined {
    const asking = this.#ask(nowMs)
    if (!asking) return undefined
    this.#waiting += 1
    return withinMs(PATIENCE_MS, asking, () => this.#beAlone()).finally(() => (this.#waiting -= 1))
  }

  nextMs(nowMs: number): number {
    if (this.#alone) return this.#alone.nextMs(nowMs)
    return Math.max(this.#askAgainMs - nowMs, WINDOW_MS / this.#quota)
  }

  #ask(nowMs: number): Promise<void> | undefined {
    if (!this.#asking && nowMs < this.#askAgainMs) return undefined
    return (this.#asking ??= this.#lease().finally(() => (this.#asking = undefined)))
  }

  #beAlone(): void {
    this.#alone ??= new TokenBucket(this.#quota, this.#leases.clock(), blockOf(this.#quota))
  }

  /** Leases calls. Never rejects. */
  async #lease(): Promise<void> {
    // All calls that begin to wait in this turn are counted.
    await Promise.resolve()
    const quota = this.#quota
    const wanted = Math.max(blockOf(quota), this.#waiting) + this.#owed
    const lease = await this.#leases.take(this.#key, quota, wanted)
    const nowMs = this.#leases.clock()
    if (!lease) {
      this.#askAgainMs = nowMs + ASK_AGAIN_MS
      return this.#beAlone()
    }
    this.#alone = undefined
    // The limit may have changed while the store was asked.
    const scale = this.#quota / quota
    const taken = lease.taken * scale
    const paid = Math.min(taken, this.#owed)
    this.#owed -= paid
    this.#leased += taken - paid
    this.#inStore = lease.left * scale
    if (lease.taken < wanted) this.#askAgainMs = nowMs + ASK_AGAIN_MS
  }
}

function blockOf(quota: number): number {
  return Math.max(1, Math.round(quota / BLOCKS))
}

/** 0 for small limits: one call that is not counted would be too much there, so their first call waits for a lease. */
function freeOf(quota: number): number {
  return Math.floor(quota / BLOCKS / 2)
}
