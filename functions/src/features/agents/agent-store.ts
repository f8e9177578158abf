import type { Agent } from './agent.ts'

/** A session of a user. Without a project, the request named none. */
export type LinkedSession = {
  readonly uid: string
  readonly project: string | undefined
  readonly sessionId: string
}

export type ListOrder = 'asc' | 'desc'

/** What a change makes of an agent. If `agent` is the one that was read, nothing is written; if it is undefined, it is deleted. */
export type PlannedAgent<Result> = { readonly agent: Agent | undefined; readonly result: Result }

/** Keeps the agents of each user, and which session has which agent. Every store passes `test/support/agent-store.contract.ts`. */
export type AgentStore = {
  /** Prepares the reads of linked agents. Never rejects. */
  readonly open?: () => Promise<void>
  readonly find: (uid: string, id: string) => Promise<Agent | undefined>
  /** The agents by the time of their creation. */
  readonly list: (uid: string, limit: number, order: ListOrder) => Promise<readonly Agent[]>
  /** Those of the ids that the user's agents have. */
  readonly taken: (uid: string, ids: readonly string[]) => Promise<ReadonlySet<string>>
  /**
   * Changes one agent in a transaction, which may run `plan` several times. `count` is the number of the user's agents, if there
   * is none of this id. If `plan` throws, nothing is written.
   */
  readonly change: <Result>(
    uid: string,
    id: string,
    plan: (found: Agent | undefined, count: number) => PlannedAgent<Result>,
  ) => Promise<Result>
  /** The id of the session's agent. */
  readonly linked: (session: LinkedSession) => Promise<string | undefined>
  /** The ids of the agents to which `link` has linked the session, in whatever project, each once, by code unit. */
  readonly linkedAgents: (uid: string, sessionId: string) => Promise<readonly string[]>
  /**
   * False if the user has LINKS_PER_USER links, or the session has LINKED_PROJECTS_MAX in other projects, and there is none for this
   * session and project; then nothing is written.
   */
  readonly link: (session: LinkedSession, agentId: string, nowMs: number) => Promise<boolean>
  /** False if the session had no link. */
  readonly unlink: (session: LinkedSession) => Promise<boolean>
}
