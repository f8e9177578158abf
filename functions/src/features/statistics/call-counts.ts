import { randomUUID } from 'node:crypto'
import { EVERYBODY } from '../../documents/collection.ts'
import type { Log } from '../../log.ts'
import { Turns } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import { CallTotals } from './call-totals.ts'
import { HOUR_MS, hourOf, type HourPart, type HourStore } from './hour-store.ts'
import type { ListTokens, SentTools } from './list-tokens.ts'
import { addCall, addCounts, countOf, COUNTED_TOOLS_MAX, isCounted, OWN_TOOLS_UNTIL } from './tool-count.ts'
import type { EndedCall, ToolCounts } from './tool-count.ts'

/**
 * Milliseconds between two writes of what was counted. If the process is killed, at most the counts of this time are lost. Each
 * active user costs one write in this time.
 */
export const WRITE_MS = 30_000

/**
 * The most parts that wait for the store: one for each active user, and twice as many while the store is down. If there are more,
 * the oldest are forgotten. A part of a user with a few tools takes 2 KB.
 */
const PARTS_MAX = 5_000
/** After this many failed writes one after the other, the store counts as down, and the other parts wait for the next time. */
const FAILURES_MAX = 3
/** How many users' parts are written at once. An instance in the cloud, where a write takes some 50 ms, writes 2,400 in WRITE_MS. */
const WRITES_AT_ONCE = 4
/** The most different lists of one user that are counted until the next write. Nobody needs more for their models. */
const LISTS_MAX = 100
/** The most bytes of lists that wait to be counted. Without this limit, they could keep much memory after they were sent. */
const LISTS_BYTES_MAX = 32 * 1024 * 1024

/** A part to which calls and lists are still added, or that waits for the store. */
type Part = Omit<HourPart, 'number'> & {
  number: number
  /** How often each list was sent. Their tokens are counted before the part is written. */
  readonly lists: Map<SentTools, number>
  /** The bytes that the lists keep in memory. */
  listsBytes: number
  /** True if the store was asked to add the part. It may have done so, also if it answered with an error. */
  wasTried: boolean
}

type Parts = {
  readonly store: Pick<HourStore, 'add' | 'read'>
  readonly listTokens: ListTokens
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

/** The counts of some hours. */
export type CountedHours = {
  readonly tools: ToolCounts
  /** The time since which counts may be missing, in milliseconds since 1970. Null if none is known to be missing. */
  readonly incompleteSinceMs: number | null
  /** False if the store could not be read, so that there are only the counts that this process has not written yet. */
  readonly wasRead: boolean
}

/**
 * Counts every call and every list, for each user and for all users together. Counting changes only memory. The counts are added
 * to the store in the background, so no call waits for the store, and none fails because of it.
 */
export class CallCounts {
  /** What this process has counted since its start, for `/metrics`. */
  readonly totals = new CallTotals()
  readonly #parts: Parts
  readonly #instance = randomUUID()
  /**
   * The parts that are still added to, by hour and owner. At the turn of the hour, calls of both hours end in turns, so an owner
   * may have two of them.
   */
  readonly #open = new Map<string, Part>()
  /** The parts that wait for the store, the oldest first. */
  #waiting: Part[] = []
  #number = 0
  #listsBytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #isClosed = false
  /** When the first write failed after the last one that succeeded. */
  #downSinceMs: number | null = null
  /** The first and the last hour of which counts were forgotten. */
  #forgotten: { readonly fromMs: number; readonly toMs: number } | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Counts a call that has ended. `atMs` is when it arrived, in milliseconds since 1970. `isOwn`: the tool is in the own layer of
   * the user. Never throws.
   */
  readonly countCall = (uid: string, call: EndedCall, atMs: number, isOwn = false): void => {
    this.totals.addCall(call)
    // A name that no tool has is not counted, because anybody could send any number of them.
    const { tool, digest } = call
    if (tool === null || digest === null || !isCounted(call)) return
    for (const owner of [uid, EVERYBODY]) {
      const part = this.#partOf(owner, atMs)
      const count = countOf(part.tools, tool, toolsMax(owner, isOwn))
      if (count) addCall(count, call, atMs)
    }
  }

  /** Counts a list that was sent to a user. `isSame`: the user has the list already, and was told so. Never throws. */
  readonly countList = (uid: string, list: SentTools, isSame: boolean): void => {
    this.totals.addList(isSame)
    const nowMs = this.#parts.now()
    for (const owner of [uid, EVERYBODY]) {
      const part = this.#partOf(owner, nowMs)
      const times = part.lists.get(list)
      if (times === undefined) {
        const isTooMany = owner !== EVERYBODY && part.lists.size >= LISTS_MAX
        if (isTooMany || this.#listsBytes + list.bytes > LISTS_BYTES_MAX) continue
        this.#listsBytes += list.bytes
        part.listsBytes += list.bytes
      }
      part.lists.set(list, (times ?? 0) + 1)
    }
  }

  /**
   * The counts of an owner from the hour of `fromMs` to that of `toMs`, as the store and this process have them. The lists of the
   * last WRITE_MS may be missing. If the store cannot be read, the counts are those that this process has not written yet.
   * Rejects with the reason of `turns` if the caller leaves, and with STORE_FAILED for a damaged document.
   */
  async read(owner: string, fromMs: number, toMs: number, turns = new Turns()): Promise<CountedHours> {
    const hours: number[] = []
    for (let hourMs = hourOf(fromMs); hourMs <= toMs; hourMs += HOUR_MS) hours.push(hourMs)
    // They are copied before the store is read, so that a part that is written meanwhile is neither missed nor counted twice.
    const own = this.#copiesOf(owner, new Set(hours))
    const stored = await this.#parts.store.read(owner, hours).catch((error: unknown) => {
      this.#warn('the counts of calls could not be read', error)
    })
    const tools: ToolCounts = new Map()
    const written = new Map<number, number>()
    for (const hour of stored ?? []) {
      addCounts(tools, hour.tools)
      written.set(hour.hourMs, hour.parts.get(this.#instance) ?? 0)
      if (turns.isDue) await turns.give()
    }
    for (const part of own) if ((written.get(part.hourMs) ?? 0) < part.number) addCounts(tools, part.tools)
    const incompleteSinceMs = stored ? this.#incompleteSince(hourOf(fromMs)) : hourOf(fromMs)
    return { tools, incompleteSinceMs, wasRead: stored !== undefined }
  }

  /** Adds to the store what was counted so far. Never rejects: what could not be added is tried again later. */
  async write(): Promise<void> {
    while (this.#writing) await this.#writing
    this.#writing = this.#writeAll().finally(() => (this.#writing = undefined))
    await this.#writing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.write()
  }

  /** How many parts wait for the store, and since when it cannot be written (milliseconds since 1970). */
  get state(): { readonly waiting: number; readonly downSinceMs: number | null } {
    return { waiting: this.#open.size + this.#waiting.length, downSinceMs: this.#downSinceMs }
  }

  /** The part of the owner to which a call or list of this time is added. */
  #partOf(owner: string, ms: number): Part {
    const hourMs = hourOf(ms)
    const key = keyOf({ owner, hourMs })
    const open = this.#open.get(key)
    if (open) return open
    this.#makeRoom()
    const part: Part = {
      owner,
      hourMs,
      number: ++this.#number,
      tools: new Map(),
      lists: new Map(),
      listsBytes: 0,
      wasTried: false,
    }
    this.#open.set(key, part)
    this.#writeLater()
    return part
  }

  /** Forgets the oldest part if there is no room for another one. */
  #makeRoom(): void {
    if (this.#open.size + this.#waiting.length < PARTS_MAX) return
    const [first] = this.#open.values()
    const oldest = this.#waiting.shift() ?? first
    if (!oldest) return
    if (oldest === first) this.#open.delete(keyOf(oldest))
    this.#dropLists(oldest)
    const { fromMs, toMs } = this.#forgotten ?? { fromMs: oldest.hourMs, toMs: oldest.hourMs }
    this.#forgotten = { fromMs: Math.min(fromMs, oldest.hourMs), toMs: Math.max(toMs, oldest.hourMs) }
  }

  #writeLater(): void {
    if (this.#isClosed) return
    this.#timer ??= setTimeout(() => asPart('the count of calls', () => void this.write()), WRITE_MS).unref()
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = merged([...this.#waiting, ...this.#open.values()])
    this.#open.clear()
    const written = new Set<Part>()
    const failed = new Set<string>()
    let failures = 0
    // The parts of an owner are added one after the other, in their order, and none after one that could not be added.
    const owners = Map.groupBy(this.#waiting, ({ owner }) => owner).entries()
    const writeSome = async (): Promise<void> => {
      for (const [owner, parts] of owners)
        for (const part of parts) {
          if (failures >= FAILURES_MAX || failed.has(owner)) break
          if (await this.#add(part)) {
            written.add(part)
            failures = 0
          } else {
            failed.add(owner)
            failures += 1
          }
        }
    }
    await Promise.all(Array.from({ length: WRITES_AT_ONCE }, writeSome))
    // New parts may have come meanwhile. Parts that failed come last, so that they do not keep others from being written.
    const left = this.#waiting.filter((part) => !written.has(part))
    this.#waiting = [
      ...left.filter(({ owner }) => !failed.has(owner)),
      ...left.filter(({ owner }) => failed.has(owner)),
    ]
    if (left.length > 0) this.#writeLater()
  }

  /** Adds a part to the store. False if the store could not be written. */
  async #add(part: Part): Promise<boolean> {
    const { store, listTokens, now } = this.#parts
    try {
      for (const [list, times] of part.lists)
        for (const { name, isOwn, tokens } of await listTokens.of(list)) {
          const count = countOf(part.tools, name, toolsMax(part.owner, isOwn))
          if (!count) continue
          count.lists += times
          count.tokens += times * tokens
        }
    } catch (error) {
      this.#warn('the tokens of lists could not be counted', error)
    }
    this.#dropLists(part)
    part.wasTried = true
    try {
      await store.add(part, this.#instance)
    } catch (error) {
      this.#warn('the counts of calls could not be written; they are written later', error)
      this.#downSinceMs ??= now()
      return false
    }
    this.#downSinceMs = null
    return true
  }

  #dropLists(part: Part): void {
    this.#listsBytes -= part.listsBytes
    part.listsBytes = 0
    part.lists.clear()
  }

  #copiesOf(owner: string, hours: ReadonlySet<number>): readonly HourPart[] {
    return [...this.#waiting, ...this.#open.values()]
      .filter((part) => part.owner === owner && hours.has(part.hourMs))
      .map(({ hourMs, number, tools }) => {
        const copy: ToolCounts = new Map()
        addCounts(copy, tools)
        return { owner, hourMs, number, tools: copy }
      })
  }

  /** When the counts begin to be incomplete, of those from `fromMs` on. */
  #incompleteSince(fromMs: number): number | null {
    const forgotten = this.#forgotten
    if (forgotten && forgotten.toMs >= fromMs) return Math.max(fromMs, forgotten.fromMs)
    return this.#downSinceMs
  }

  #warn(message: string, error: unknown): void {
    this.#parts.log.warn(message, { reason: error instanceof Error ? error.message : 'unknown' })
  }
}

/** The most tools that are counted for the owner, if this one is to be counted too. */
function toolsMax(owner: string, isOwn: boolean): number {
  return isOwn && owner === EVERYBODY ? OWN_TOOLS_UNTIL : COUNTED_TOOLS_MAX
}

function keyOf({ owner, hourMs }: Pick<Part, 'owner' | 'hourMs'>): string {
  return `${hourMs} ${owner}`
}

/**
 * Joins the parts of one owner and hour. A part that the store was asked to add stays as it is, because the store may have it
 * already.
 */
function merged(parts: readonly Part[]): Part[] {
  const joined: Part[] = []
  const byHour = new Map<string, Part>()
  for (const part of parts) {
    const key = keyOf(part)
    const before = byHour.get(key)
    if (before) {
      addCounts(before.tools, part.tools)
      before.number = part.number
      for (const [list, times] of part.lists) before.lists.set(list, (before.lists.get(list) ?? 0) + times)
      before.listsBytes += part.listsBytes
    } else {
      joined.push(part)
      if (!part.wasTried) byHour.set(key, part)
    }
  }
  return joined
}
