import { ToolrackError } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import { AGENT_TOOLS_MAX, DEFAULT_AGENT, DEFAULT_TOOLS } from './agent.ts'
import { LINKED_PROJECTS_MAX, LINKS_PER_USER } from './agent.ts'
import { agentIdOf, isAgentId, isReservedId, type Agent, type FixedAgent } from './agent.ts'
import type { AgentFiles } from './agent-files.ts'
import type { AgentStore, LinkedSession, ListOrder, PlannedAgent } from './agent-store.ts'
import type { AgentFields } from './check-agent.ts'

type Parts = {
  readonly store: AgentStore
  readonly files: AgentFiles
  readonly now: () => number
  /** Called after a change of a session's link by this instance. */
  readonly relinked?: (uid: string, sessionId: string) => void
}

/**
 * The agents of users, in the store and in files. If both have an agent with the same id, the one in the store is used. The agent
 * `default` is always the built-in one.
 */
export class Agents {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get files(): AgentFiles {
    return this.#parts.files
  }

  /** Throws AGENT_CONFLICT if the id that is made of the name is reserved or taken, and AGENTS_FULL if there is no room. */
  async create(uid: string, { name, tools = [], ...fields }: AgentFields & { name: string }): Promise<Agent> {
    const { store, files, now } = this.#parts
    const id = agentIdOf(name) || randomUUID()
    if (isReservedId(id)) throw new ToolrackError('AGENT_CONFLICT', ID_RESERVED)
    if ((await files.read()).agents.has(id)) throw new ToolrackError('AGENT_CONFLICT', ID_IN_FILE)
    const nowMs = now()
    const { inputSchema } = fields
    const agent: Agent = {
      id,
      name,
      description: fields.description ?? null,
      workflowName: fields.workflowName ?? null,
      created: nowMs,
      updated: nowMs,
      ...(tools.length > 0 && { tools }),
      ...(inputSchema && { inputSchema }),
    }
    return store.change(uid, id, (found) => {
      if (found) throw new ToolrackError('AGENT_CONFLICT', ID_TAKEN)
      return { agent, result: agent }
    })
  }

  /**
   * At most `limit` stored agents, by the time of their creation, and after them the agents in files whose id no stored agent
   * has.
   */
  async list(uid: string, limit: number, order: ListOrder): Promise<readonly (Agent | FixedAgent)[]> {
    const { store, files } = this.#parts
    const [kept, { agents }] = await Promise.all([store.list(uid, limit, order), files.read()])
    const stored = kept.filter(({ id }) => id !== DEFAULT_AGENT.id)
    const listed = new Set(stored.map(({ id }) => id))
    const left = [...agents.keys()].filter((id) => !listed.has(id))
    // A list that is not full has every stored agent.
    const taken = kept.length < limit || left.length === 0 ? listed : await store.taken(uid, left)
    return [...stored, ...[...agents.values()].filter(({ id }) => !listed.has(id) && !taken.has(id))]
  }

  /** Throws AGENT_NOT_FOUND. */
  async find(uid: string, id: string): Promise<Agent | FixedAgent> {
    const isStored = isAgentId(id) && id !== DEFAULT_AGENT.id
    const stored = isStored ? await this.#parts.store.find(uid, id) : undefined
    const found = stored ?? (await this.#fixed(id))
    if (!found) throw new ToolrackError('AGENT_NOT_FOUND')
    return found
  }

  /** Changes only the given fields. */
  change(uid: string, id: string, fields: AgentFields): Promise<Agent> {
    return this.#change(uid, id, (found) => {
      const agent = { ...found, ...fields, updated: this.#parts.now() }
      return { agent, result: agent }
    })
  }

  delete(uid: string, id: string): Promise<void> {
    return this.#change(uid, id, () => ({ agent: undefined, result: undefined }))
  }

  /** The names of the agent's tools. An empty list means the defaults of the client. */
  async tools(uid: string, id: string): Promise<readonly string[]> {
    return (await this.find(uid, id)).tools ?? DEFAULT_TOOLS
  }

  /** Adds tools to an agent. Returns the names of all its tools after the change. If no name is new, the agent stays as it is. */
  addTools(uid: string, id: string, names: readonly string[]): Promise<readonly string[]> {
    return this.#changeTools(uid, id, (tools) => [...new Set([...tools, ...names])])
  }

  removeTools(uid: string, id: string, names: readonly string[]): Promise<readonly string[]> {
    return this.#changeTools(uid, id, (tools) => tools.filter((name) => !names.includes(name)))
  }

  /** Links a session to an agent. Throws AGENT_NOT_FOUND, or AGENTS_FULL if there are too many links. */
  async link(session: LinkedSession, agentId: string): Promise<void> {
    const { store, now } = this.#parts
    await this.find(session.uid, agentId)
    if (!(await store.link(session, agentId, now()))) throw new ToolrackError('AGENTS_FULL', TOO_MANY_LINKS)
    this.#parts.relinked?.(session.uid, session.sessionId)
  }

  /** The id of the session's agent. Throws AGENT_NOT_FOUND if the session has no link. */
  async linked(session: LinkedSession): Promise<string> {
    const agentId = await this.#parts.store.linked(session)
    if (agentId === undefined) throw new ToolrackError('AGENT_NOT_FOUND', NOT_LINKED)
    return agentId
  }

  async unlink(session: LinkedSession): Promise<void> {
    if (!(await this.#parts.store.unlink(session))) throw new ToolrackError('AGENT_NOT_FOUND', NOT_LINKED)
    this.#parts.relinked?.(session.uid, session.sessionId)
  }

  async #changeTools(
    uid: string,
    id: string,
    act: (tools: readonly string[]) => readonly string[],
  ): Promise<readonly string[]> {
    return this.#change(uid, id, (found) => {
      const before = found.tools ?? DEFAULT_TOOLS
      const tools = act(before)
      if (tools.length > Math.max(AGENT_TOOLS_MAX, before.length))
        throw new ToolrackError('AGENTS_FULL', TOO_MANY_TOOLS)
      const isSame = found.tools !== undefined && tools.length === before.length
      return { agent: isSame ? found : { ...found, tools, updated: this.#parts.now() }, result: tools }
    })
  }

  async #change<Result>(
    uid: string,
    id: string,
    plan: (found: Agent) => PlannedAgent<Result>,
  ): Promise<Result> {
    if (!isAgentId(id)) throw new ToolrackError('AGENT_NOT_FOUND')
    const fixed = await this.#fixed(id)
    if (fixed === DEFAULT_AGENT) throw new ToolrackError('AGENT_CONFLICT', IS_DEFAULT)
    return this.#parts.store.change(uid, id, (found) => {
      if (found) return plan(found)
      if (fixed) throw new ToolrackError('AGENT_CONFLICT', IN_FILE)
      throw new ToolrackError('AGENT_NOT_FOUND')
    })
  }

  async #fixed(id: string): Promise<FixedAgent | undefined> {
    return id === DEFAULT_AGENT.id ? DEFAULT_AGENT : (await this.#parts.files.read()).agents.get(id)
  }
}

const CHOOSE = 'choose another name'
const ID_RESERVED = `The name gives an id that is reserved (session, default, runs or tools); ${CHOOSE}.`
const ID_IN_FILE = `An agent in a file has the id that the name gives; ${CHOOSE}.`
const ID_TAKEN = `You have an agent with the id that the name gives; change that agent, or ${CHOOSE}.`
const IN_FILE = 'The agent is in a file of the service and changes only there; create one with another name.'
const IS_DEFAULT = 'The agent default always exists and cannot be changed; create one with another name.'
const NOT_LINKED = 'The session is not linked to an agent.'
const TOO_MANY_TOOLS = `An agent may have ${AGENT_TOOLS_MAX} tools; remove some first. Nothing was changed.`
const TOO_MANY_LINKS = `You have ${LINKS_PER_USER} links of sessions to agents, or ${LINKED_PROJECTS_MAX} of this session, which is the most; delete some first.`
