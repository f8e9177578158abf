import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import { CachedText } from './cached-text.ts'

/** The most sessions whose linked agents are in memory. The sessions that were used last stay. */
const SESSIONS_MAX = 10_000

type Parts = {
  readonly store: Pick<AgentStore, 'open' | 'linkedAgents'>
  readonly log: Log
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
}

/** The agents of one session. `value` is undefined as long as they could not be read. */
export type AgentsOfSession = CachedText<readonly string[]>

/**
 * The agents to which sessions are linked, in any project. The routes of agents make these links. They are read at most once a
 * second.
 */
export class LinkedAgents {
  readonly #parts: Parts
  readonly #sessions = new LRUCache<string, AgentsOfSession>({ max: SESSIONS_MAX })

  constructor(parts: Parts) {
    this.#parts = parts
  }

  of(uid: string, sessionId: string): AgentsOfSession {
    const key = keyOf(uid, sessionId)
    const known = this.#sessions.get(key)
    if (known) return known
    const { store, log, now } = this.#parts
    const made: AgentsOfSession = new CachedText(
      {
        what: 'the agents of a session',
        scope: 'user',
        open: store.open,
        read: async () => JSON.stringify(await store.linkedAgents(uid, sessionId)),
        parse: (text) => JSON.parse(text ?? '[]') as readonly string[],
      },
      { log, now },
    )
    this.#sessions.set(key, made)
    return made
  }

  /**
   * To be called after a change of a link, so that the next call reads the link again. If a read is running, its result is not
   * used, because it may be older.
   */
  changed(uid: string, sessionId: string): void {
    this.#sessions.delete(keyOf(uid, sessionId))
  }
}

/** A blank separates the uid from the session's id, because no uid has a blank. */
function keyOf(uid: string, sessionId: string): string {
  return `${uid} ${sessionId}`
}
