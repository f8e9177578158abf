import { put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { object, type Test } from '../../value-shape.ts'
import { WINDOW_MS } from './token-bucket.ts'

/** How many calls of a limit of `quota` calls no instance has leased, at a time in milliseconds since 1970. */
type Left = { readonly tokens: number; readonly quota: number; readonly atMs: number }

/** Milliseconds after which the document of a bucket is deleted. After a minute without a lease, its bucket is full anyway. */
const KEPT_MS = 10 * WINDOW_MS

const isNumber: Test<number> = (value): value is number => Number.isFinite(value)
const isPositive: Test<number> = (value): value is number => isNumber(value) && value > 0
const LEFT: Collection<Left> = {
  name: 'callLeases',
  owner: 'user',
  fields: object<Left>({ tokens: isNumber, quota: isPositive, atMs: isNumber }),
  expires: ({ atMs }) => atMs + KEPT_MS,
}

export type Lease = { readonly taken: number; readonly left: number }

type Parts = {
  readonly documents: Documents
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn' | 'info'>
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number
}

/** The calls that instances lease from the store. Each bucket is one document of its user. */
export class Leases {
  readonly #parts: Parts
  #isLost = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get clock(): () => number {
    return this.#parts.clock
  }

  /** Leases up to `wanted` calls of a bucket, in one transaction. Undefined if the store cannot be asked. Never rejects. */
  async take(
    { uid, id }: { readonly uid: string; readonly id: string },
    quota: number,
    wanted: number,
  ): Promise<Lease | undefined> {
    const { documents, now, log } = this.#parts
    const to: Ref<Left> = { of: LEFT, key: `calls-${Buffer.from(id).toString('base64url')}` }
    const change = documents.change(uid, [to], ([kept]) => {
      const { tokens, atMs } = filled(kept?.fields, quota, now())
      const taken = Math.min(wanted, Math.floor(tokens))
      const left = tokens - taken
      // Without this write, a time in the future would stay, and no call would come back until then.
      const hasJumped = kept !== undefined && kept.fields.atMs > atMs
      const isWritten = taken > 0 || hasJumped
      return { result: { taken, left }, writes: isWritten ? [put(to, { tokens: left, quota, atMs })] : [] }
    })
    try {
      const lease = await change
      if (this.#isLost) log.info('calls are counted for all instances again')
      this.#isLost = false
      return lease
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      if (!this.#isLost)
        log.warn('calls cannot be counted for all instances, so each instance counts alone', { reason })
      this.#isLost = true
      return undefined
    }
  }
}

/**
 * The bucket as it is now. If the limit has changed, the same part of it stays used. Clocks of instances differ, so its time never
 * goes back by less than a minute. A time that is further in the future is that of a clock that has jumped: it is replaced, and
 * nothing comes back for the time before.
 */
export function filled(kept: Left | undefined, quota: number, nowMs: number): Left {
  if (!kept) return { tokens: quota, quota, atMs: nowMs }
  const before = Math.min(quota, (kept.tokens * quota) / kept.quota)
  if (kept.atMs - nowMs > WINDOW_MS) return { tokens: before, quota, atMs: nowMs }
  const passedMs = Math.max(0, nowMs - kept.atMs)
  const tokens = Math.min(quota, before + (passedMs * quota) / WINDOW_MS)
  return { tokens, quota, atMs: Math.max(kept.atMs, nowMs) }
}
