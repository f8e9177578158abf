import { ToolrackError, type Digest } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import { withinMs } from '../../within-ms.ts'
import { READ_DEADLINE_MS, REVISION_CHECK_MS } from '../../catalog/views/layer-cache.ts'
import type { SessionStore } from './session-store.ts'
import { isChildOf, isOver, SESSION_DEPTH_MAX, USE_WRITTEN_MS, type Session } from './session.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'

/** The most sessions in memory. The sessions that were used last stay. */
const SESSIONS_CACHED_MAX = 10_000
/** The most bytes of the sessions in memory. A session that no longer fits is read again when it is needed. */
const SESSIONS_CACHED_BYTES_MAX = 32 * 1024 * 1024

/** How many bytes are counted for a tool in memory: for its name, its digest, and its entries in maps. */
const TOOL_BYTES = 300

export type SessionsParts = {
  readonly store: Pick<SessionStore, 'open' | 'read' | 'change'>
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds of a clock that never goes back. */
  readonly clock?: () => number
}

/** A session in memory. `session` is undefined as long as it has not been read. */
type Cached = {
  session: Session | undefined
  checkedAt: number
  /**
   * How many writes of this instance there were. If it grows during a read, the result of the read may be older than the write.
   */
  written: number
  reading: Promise<void> | undefined
  /** The joined selection of the session and its parents. It is valid as long as these sessions are the ones in `chain`. */
  joined: { readonly chain: readonly Session[]; readonly selection: SessionSelection } | undefined
}

/**
 * Finds which tools each session allows. Sessions are in memory. Each is read from the store at most once a second. If a read
 * fails, the last known state stays.
 */
export class Sessions {
  readonly #parts: SessionsParts
  readonly #cache: LRUCache<string, Cached>
  #isLost = false

  constructor(parts: SessionsParts) {
    this.#parts = parts
    this.#cache = new LRUCache({
      max: SESSIONS_CACHED_MAX,
      maxSize: SESSIONS_CACHED_BYTES_MAX,
      sizeCalculation: ({ session }) => 2_048 + (session?.tools.length ?? 0) * TOOL_BYTES,
    })
  }

  /**
   * The tools that the session and its parents allow together. Not a promise if nothing has to be read or written. Throws
   * SESSION_NOT_FOUND if the session does not exist or has expired, or if one of its parents is gone.
   */
  selectionOf(uid: string, id: string): SessionSelection | Promise<SessionSelection> {
    const known = this.#knownChain(uid, id)
    if (!known) return this.#readChain(uid, id).then((chain) => this.#use(uid, chain))
    return this.#use(uid, known)
  }

  /** Reads a session from the store, and puts it into memory for the next list and call. Throws SESSION_NOT_FOUND. */
  async find(uid: string, id: string): Promise<Session> {
    const cached = this.#cached(uid, id)
    const { written } = cached
    const session = await this.#parts.store.read(uid, id)
    // A write during the read may be newer than what was read.
    if (written === cached.written) this.written(uid, id, session)
    if (!session || isOver(session, this.#parts.now())) throw noSession()
    return session
  }

  /** To be called after a write, with the new session, so that the next list and the next call use it. */
  written(uid: string, id: string, session: Session | undefined): void {
    const cached = this.#cached(uid, id)
    cached.written += 1
    this.#take(uid, id, cached, session)
  }

  /** The session and its parents, the session first. Undefined if one of them was not checked within the last second. */
  #knownChain(uid: string, id: string): readonly Session[] | undefined {
    const chain: Session[] = []
    const since = this.#now() - REVISION_CHECK_MS
    for (let next: string | null = id; next !== null && chain.length <= SESSION_DEPTH_MAX;) {
      const cached = this.#cache.get(keyOf(uid, next))
      if (!cached?.session || cached.checkedAt <= since) return undefined
      const child = chain.at(-1)
      if (child && !isChildOf(child, cached.session.key)) return undefined
      chain.push(cached.session)
      next = cached.session.parent
    }
    return chain
  }

  async #readChain(uid: string, id: string): Promise<readonly Session[]> {
    const chain: Session[] = []
    for (let next: string | null = id; next !== null && chain.length <= SESSION_DEPTH_MAX;) {
      const session: Session | undefined = await this.#current(uid, next)
      const child = chain.at(-1)
      if (!session) throw child ? noParent() : noSession()
      if (child && !isChildOf(child, session.key)) throw noParent()
      chain.push(session)
      next = session.parent
    }
    return chain
  }

  /**
   * The joined selection of a session and its parents. If a use of one of them was not written for an hour, writes its use first.
   */
  #use(uid: string, chain: readonly Session[]): SessionSelection | Promise<SessionSelection> {
    const nowMs = this.#parts.now()
    const over = chain.findIndex((session) => isOver(session, nowMs))
    if (over >= 0) throw over === 0 ? noSession() : noParent()
    if (chain.length > SESSION_DEPTH_MAX) throw tooDeep()
    const stale = chain.filter(({ usedAtMs }) => nowMs - usedAtMs >= USE_WRITTEN_MS)
    const selection = this.#join(uid, chain)
    if (stale.length === 0) return selection
    return Promise.all(stale.map((session) => this.#writeUse(uid, session, nowMs))).then(() => selection)
  }

  #join(uid: string, chain: readonly Session[]): SessionSelection {
    const [session] = chain
    if (!session) throw noSession()
    const cached = this.#cached(uid, session.id)
    const { joined } = cached
    if (joined?.chain.length === chain.length && joined.chain.every((one, at) => one === chain[at]))
      return joined.selection
    const selection = selectionOfChain(session, chain)
    cached.joined = { chain, selection }
    return selection
  }

  /**
   * Writes that a session is used now. If this fails, the next attempt is an hour later. A session expires much later than that.
   */
  async #writeUse(uid: string, session: Session, nowMs: number): Promise<void> {
    const { id, key } = session
    const cached = this.#cached(uid, id)
    if (cached.session === session) cached.session = { ...session, usedAtMs: nowMs }
    try {
      await this.#parts.store.change(uid, id, (present) =>
        present?.key === key && present.usedAtMs < nowMs
          ? { result: undefined, session: { ...present, usedAtMs: nowMs } }
          : { result: undefined },
      )
    } catch (error) {
      this.#parts.log.warn('the use of a session could not be written', { reason: reasonOf(error) })
    }
  }

  async #current(uid: string, id: string): Promise<Session | undefined> {
    const cached = this.#cached(uid, id)
    if (cached.session && this.#now() - cached.checkedAt < REVISION_CHECK_MS) return cached.session
    const reading = (cached.reading ??= this.#read(uid, id, cached).finally(
      () => (cached.reading = undefined),
    ))
    if (!cached.session) await reading
    else
      await withinMs(READ_DEADLINE_MS.withLastGood, reading, () => {
        cached.checkedAt = this.#now()
      })
    return cached.session
  }

  /** Reads a session into memory. Rejects only if it was never read before. */
  async #read(uid: string, id: string, cached: Cached): Promise<void> {
    const { store, log } = this.#parts
    try {
      await store.open?.()
      for (;;) {
        const { written } = cached
        const session = await store.read(uid, id)
        if (this.#isLost) log.info('sessions can be read again', {})
        this.#isLost = false
        if (written === cached.written) return this.#take(uid, id, cached, session)
      }
    } catch (error) {
      if (!cached.session) throw error
      cached.checkedAt = this.#now()
      if (!this.#isLost) log.error('sessions could not be read', { reason: reasonOf(error) })
      this.#isLost = true
    }
  }

  #take(uid: string, id: string, cached: Cached, session: Session | undefined): void {
    cached.checkedAt = this.#now()
    const known = cached.session
    // The same object stays, so that what was made from it can be used again.
    if (known && known.digest === session?.digest && known.usedAtMs >= session.usedAtMs) return
    cached.session = session
    cached.joined = undefined
    // The cache measures the size of a value only when it is new. So the entry is removed first.
    this.#cache.delete(keyOf(uid, id))
    // Nothing is kept of a session that does not exist, because anybody can invent ids.
    if (session) this.#cache.set(keyOf(uid, id), cached)
  }

  #cached(uid: string, id: string): Cached {
    const key = keyOf(uid, id)
    const known = this.#cache.get(key)
    if (known) return known
    const cached: Cached = {
      session: undefined,
      checkedAt: -Infinity,
      written: 0,
      reading: undefined,
      joined: undefined,
    }
    this.#cache.set(key, cached)
    return cached
  }

  #now(): number {
    return (this.#parts.clock ?? (() => performance.now()))()
  }
}

/** A blank separates the parts, because neither part can have one. */
function keyOf(uid: string, id: string): string {
  return `${uid} ${id}`
}

/** The names that all sessions of a chain allow, and the digests of the tools that some of them have locked. */
function selectionOfChain(session: Session, chain: readonly Session[]): SessionSelection {
  let names: SessionSelection['names'] = 'all'
  const digests = new Map<string, Digest>()
  for (const { selection, lockedAt, lockDigests, tools } of chain) {
    if (selection === 'all' && lockedAt === null) continue
    names = namesWithin(
      names,
      tools.map(({ name }) => name),
    )
    if (lockDigests) for (const { name, digest } of tools) if (digest !== null) digests.set(name, digest)
  }
  const { id, key, lockedAt, agent, workflow, room } = session
  return {
    id,
    key,
    names,
    ...(digests.size > 0 && { digests }),
    revision: chain.map(({ digest }) => digest.slice('sha256:'.length, 23)).join('.'),
    lockedAt,
    lineage: chain.map((one) => ({ id: one.id, agent: one.agent })),
    ...(agent !== null && { agent }),
    ...(workflow !== null && { workflow }),
    ...(room !== null && { room }),
  }
}

function namesWithin(outer: SessionSelection['names'], own: readonly string[]): ReadonlySet<string> {
  return new Set(outer === 'all' ? own : own.filter((name) => outer.has(name)))
}

export function noSession(): ToolrackError {
  return new ToolrackError('SESSION_NOT_FOUND')
}

export function noParent(): ToolrackError {
  return new ToolrackError(
    'SESSION_NOT_FOUND',
    'A parent of the session was deleted or has ended, and so has the session. Make a new session.',
  )
}

/**
 * The error for a chain of too many sessions. It can happen only if several sessions of the chain are written at the same time.
 */
function tooDeep(): ToolrackError {
  return new ToolrackError('SESSION_NOT_FOUND', `The parents of the session ${PARENTS_RULE}.`)
}

export const PARENTS_RULE = `may be at most ${SESSION_DEPTH_MAX - 1}, and must not lead back to it`

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
