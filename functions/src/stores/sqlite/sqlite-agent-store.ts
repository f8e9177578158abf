import type { DatabaseSync } from 'node:sqlite'
import { LINKED_PROJECTS_MAX, LINKS_PER_USER, type Agent } from '../../features/agents/agent.ts'
import type { AgentStore, LinkedSession, ListOrder, PlannedAgent } from '../../features/agents/agent-store.ts'
import { inTransactionWhenFree, prepareAll, sqliteError } from './transaction.ts'

const SQL = {
  find: 'SELECT text FROM agents WHERE uid = ? AND id = ?',
  asc: 'SELECT text FROM agents WHERE uid = ? ORDER BY created, id LIMIT ?',
  desc: 'SELECT text FROM agents WHERE uid = ? ORDER BY created DESC, id DESC LIMIT ?',
  count: 'SELECT count(*) AS count FROM agents WHERE uid = ?',
  put: `INSERT INTO agents (uid, id, created, text) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET created = excluded.created, text = excluded.text`,
  drop: 'DELETE FROM agents WHERE uid = ? AND id = ?',
  linked: 'SELECT agent FROM agent_links WHERE uid = ? AND project = ? AND session = ?',
  linkedAgents: 'SELECT DISTINCT agent FROM agent_links WHERE uid = ? AND session = ? ORDER BY agent',
  countOfSession: 'SELECT count(*) AS count FROM agent_links WHERE uid = ? AND session = ?',
  countLinks: 'SELECT count(*) AS count FROM agent_links WHERE uid = ?',
  link: `INSERT INTO agent_links (uid, project, session, agent, created, updated) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET agent = excluded.agent, updated = excluded.updated`,
  unlink: 'DELETE FROM agent_links WHERE uid = ? AND project = ? AND session = ?',
} as const

/** The agents in the embedded store, and which session has which agent. */
export class SqliteAgentStore implements AgentStore {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepareAll<keyof typeof SQL>>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareAll(database, SQL)
  }

  find = async (uid: string, id: string): Promise<Agent | undefined> => this.#read(() => this.#find(uid, id))

  list = async (uid: string, limit: number, order: ListOrder): Promise<readonly Agent[]> =>
    this.#read(() => this.#statements[order].all(uid, limit).map(agentIn))

  taken = async (uid: string, ids: readonly string[]): Promise<ReadonlySet<string>> =>
    this.#read(() => new Set(ids.filter((id) => this.#statements.find.get(uid, id) !== undefined)))

  change = <Result>(
    uid: string,
    id: string,
    plan: (found: Agent | undefined, count: number) => PlannedAgent<Result>,
  ): Promise<Result> =>
    this.#write(() => {
      const { count, put, drop } = this.#statements
      const found = this.#find(uid, id)
      const { agent, result } = plan(found, found ? 0 : countIn(count.get(uid)))
      if (!agent) drop.run(uid, id)
      else if (agent !== found) put.run(uid, id, agent.created, JSON.stringify(agent))
      return result
    })

  linked = async (session: LinkedSession): Promise<string | undefined> =>
    this.#read(() => this.#linked(session))

  linkedAgents = async (uid: string, sessionId: string): Promise<readonly string[]> =>
    this.#read(() =>
      (this.#statements.linkedAgents.all(uid, sessionId) as { readonly agent: string }[]).map(
        ({ agent }) => agent,
      ),
    )

  link = (session: LinkedSession, agentId: string, nowMs: number): Promise<boolean> =>
    this.#write(() => {
      const { countLinks, countOfSession, link } = this.#statements
      const { uid, sessionId } = session
      if (this.#linked(session) === undefined) {
        if (countIn(countLinks.get(uid)) >= LINKS_PER_USER) return false
        if (countIn(countOfSession.get(uid, sessionId)) >= LINKED_PROJECTS_MAX) return false
      }
      link.run(...keyOf(session), agentId, nowMs, nowMs)
      return true
    })

  unlink = (session: LinkedSession): Promise<boolean> =>
    this.#write(() => this.#statements.unlink.run(...keyOf(session)).changes > 0)

  #find(uid: string, id: string): Agent | undefined {
    const row = this.#statements.find.get(uid, id)
    return row && agentIn(row)
  }

  #linked(session: LinkedSession): string | undefined {
    const row = this.#statements.linked.get(...keyOf(session)) as { readonly agent: string } | undefined
    return row?.agent
  }

  #read<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw sqliteError(error)
    }
  }

  #write<T>(act: () => T): Promise<T> {
    return inTransactionWhenFree(this.#database, 'IMMEDIATE', act)
  }
}

/** No id of a project is empty. */
function keyOf({ uid, project = '', sessionId }: LinkedSession): [string, string, string] {
  return [uid, project, sessionId]
}

function agentIn(row: unknown): Agent {
  return JSON.parse((row as { readonly text: string }).text) as Agent
}

function countIn(row: unknown): number {
  return (row as { readonly count: number }).count
}
