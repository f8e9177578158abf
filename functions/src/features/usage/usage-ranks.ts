import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import { withinMs } from '../../within-ms.ts'
import { added, halved, readUsage, usageText, type ToolUse, type UsageCount } from './usage-count.ts'
import { NO_RANK, type UsageRank } from '../../catalog/views/usage-rank.ts'
import { rankOf } from './rank-of.ts'
import type { UsageStore } from './usage-store.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * The most users whose ranks are in memory. The users who asked for a list last stay. The rank of any other user is read again.
 */
const USERS_MAX = 10_000
/** How many milliseconds a list waits for the rank. If it is not there by then, the list is ordered by name. */
const READ_DEADLINE_MS = 1_500
/** Milliseconds after which a rank that could not be read is read again. */
const RETRY_MS = 60_000

type Parts = {
  readonly store: Pick<UsageStore, 'read' | 'keepFirst'>
  /** How often the tools of a user were run in the hours of these times, in milliseconds since 1970. Rejects without the store. */
  readonly uses: (uid: string, fromMs: number, toMs: number) => Promise<readonly ToolUse[]>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

type Known = { readonly rank: UsageRank; readonly day: string; readonly untilMs: number }

/**
 * Ranks the tools of each user by their use. On each UTC day, the first list that needs the rank of a user computes it and keeps
 * it in the store. Then every instance uses this rank until the day ends. So the rank never changes a list during a day.
 */
export class UsageRanks {
  readonly #parts: Parts
  readonly #known = new LRUCache<string, Known>({ max: USERS_MAX })
  readonly #reading = new Map<string, Promise<UsageRank>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * The rank of a user's tools. Not a promise if the rank of the day is in memory. Never rejects: without a rank, tools are
   * ordered by name.
   */
  of(uid: string): UsageRank | Promise<UsageRank> {
    const nowMs = this.#parts.now()
    const known = this.#known.get(uid)
    if (known && known.day === dayOf(nowMs) && nowMs < known.untilMs) return known.rank
    const reading = this.#reading.get(uid) ?? this.#read(uid, nowMs)
    this.#reading.set(uid, reading)
    return withinMs(READ_DEADLINE_MS, reading, () => NO_RANK)
  }

  async #read(uid: string, nowMs: number): Promise<UsageRank> {
    const day = dayOf(nowMs)
    try {
      const rank = await this.#rank(uid, day, nowMs)
      this.#known.set(uid, { rank, day, untilMs: Infinity })
      return rank
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      this.#parts.log.warn('the use of tools could not be read, so they are ranked by name', { reason })
      this.#known.set(uid, { rank: NO_RANK, day, untilMs: nowMs + RETRY_MS })
      return NO_RANK
    } finally {
      this.#reading.delete(uid)
    }
  }

  async #rank(uid: string, day: string, nowMs: number): Promise<UsageRank> {
    const { store, uses } = this.#parts
    const kept = await store.read(uid)
    const known = kept && readUsage(kept.text)
    if (kept && known && kept.day >= day) return rankOf(known)
    const dayMs = Date.parse(day)
    const [dayBefore, today] = [await uses(uid, dayMs - DAY_MS, dayMs - 1), await uses(uid, dayMs, nowMs)]
    const earlier = known ? earlierThan(dayMs - DAY_MS, known, kept.day) : []
    const before = added(halved(earlier), dayBefore)
    const count = { until: new Date(nowMs).toISOString(), before, tools: added(before, today) }
    const agreed = await store.keepFirst(uid, { day, text: usageText(count) })
    return rankOf(readUsage(agreed.text) ?? count)
  }
}

/** The use that was counted before the day that begins at `dayMs`. The calls of that day itself are counted again, and whole. */
function earlierThan(dayMs: number, { before, tools }: UsageCount, day: string): readonly ToolUse[] {
  return Date.parse(day) >= dayMs ? before : tools
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
