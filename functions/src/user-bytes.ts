import { getHeapStatistics } from 'node:v8'

/** Counts bytes for each user. Remembers only users who have bytes. */
export class UserBytes {
  readonly #bytesOf = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  get users(): number {
    return this.#bytesOf.size
  }

  of(user: string): number {
    return this.#bytesOf.get(user) ?? 0
  }

  /** Adds bytes to those of a user. A negative number subtracts them. */
  add(user: string, bytes: number): void {
    const own = this.of(user) + bytes
    this.#total += bytes
    if (own > 0) this.#bytesOf.set(user, own)
    else this.#bytesOf.delete(user)
  }
}

/**
 * A share of the heap's maximum size in bytes, but at least `bytesMin`. `share` is a fraction. The default maximum size is V8's
 * limit.
 */
export function shareOfHeap(
  share: number,
  bytesMin: number,
  heapBytesMax = getHeapStatistics().heap_size_limit,
): number {
  return Math.max(bytesMin, Math.floor(heapBytesMax * share))
}
