import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import { put, remove, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { AGENTS_PER_USER, LINKED_PROJECTS_MAX, LINKS_PER_USER, type Agent } from './agent.ts'

/** A session of a user. `project` is undefined if the request named none. */
export type LinkedSession = {
  readonly uid: string
  readonly project: string | undefined
  readonly sessionId: string
}

export type ListOrder = 'asc' | 'desc'

/**
 * What a change does to an agent. If `agent` is the object that was read, nothing is written. If it is undefined, the agent is
 * deleted.
 */
export type PlannedAgent<Result> = { readonly agent: Agent | undefined; readonly result: Result }

/** The agents. In Firestore, they are in the documents of the original service, which Toolrack replaces. */
const AGENTS: Collection<Agent> = {
  name: 'agents',
  owner: 'user',
  fields: isJsonObject as (value: unknown) => value is Agent,
  quota: { count: AGENTS_PER_USER, refuse: () => new ToolrackError('AGENTS_FULL', TOO_MANY_AGENTS) },
  index: 'created',
  firestore: { path: (id) => ['agents', id], read: agentIn },
}

const TOO_MANY_AGENTS = `You have ${AGENTS_PER_USER} agents, which is the most; delete one first.`

type Link = {
  readonly sessionId: string
  readonly agentId: string
  readonly created?: number
  readonly updated?: number
}

/** The links from sessions to agents. The original service, which Toolrack replaces, writes such links too. */
const LINKS: Collection<Link> = {
  name: 'links',
  owner: 'user',
  fields: isJsonObject as (value: unknown) => value is Link,
  firestore: { path: linkPath, read: linkIn },
}

/**
 * For each session, the projects in which this service has linked it to an agent. Firestore has no query that finds all links of
 * one session of a user.
 */
const PROJECTS: Collection<{ readonly projects: readonly string[] }> = {
  name: 'linkedProjects',
  owner: 'user',
  fields: isJsonObject as (value: unknown) => value is { readonly projects: readonly string[] },
  firestore: {
    path: (session) => ['tools', 'agents', 'sessions', session],
    read: ({ projects }) => ({ projects: textsIn(projects) }),
  },
}

/**
 * How many links this service has made. Links that the original service has made are not counted, but the original service may
 * delete links that are counted here.
 */
const COUNT: Collection<{ readonly links: number }> = {
  name: 'linkCount',
  owner: 'user',
  fields: isJsonObject as (value: unknown) => value is { readonly links: number },
  firestore: { path: () => ['tools', 'agents'], read: ({ links }) => ({ links: Number(links ?? 0) }) },
}
export const LINK_COUNT = { of: COUNT, key: 'links' }

/** Keeps the agents of each user, and which session has which agent. */
export class AgentStore {
  readonly #documents: Documents
  /** Prepares the reads of linked agents. Never rejects. */
  readonly open: Documents['open']

  constructor(documents: Documents) {
    this.#documents = documents
    this.open = documents.open
  }

  find = async (uid: string, id: string): Promise<Agent | undefined> => {
    const [kept] = await this.#documents.read(uid, [agentRef(id)])
    return kept?.fields
  }

  /** The user's agents, sorted by the time of their creation. */
  list = async (uid: string, limit: number, order: ListOrder): Promise<readonly Agent[]> =>
    (await this.#documents.list(uid, AGENTS, { limit, order })).map(({ fields }) => fields)

  /** Those of `ids` that the user's agents already have. */
  taken = async (uid: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
    const found = await this.#documents.read(uid, ids.map(agentRef))
    return new Set(ids.filter((_, at) => found[at] !== undefined))
  }

  /** Changes one agent in a transaction. Rejects with AGENTS_FULL if there is no room for a new one. */
  change = <Result>(
    uid: string,
    id: string,
    plan: (found: Agent | undefined) => PlannedAgent<Result>,
  ): Promise<Result> =>
    this.#documents.change(uid, [agentRef(id)], ([kept]) => {
      const { agent, result } = plan(kept?.fields)
      if (agent === kept?.fields) return { result }
      return { result, writes: [agent ? put(agentRef(id), agent) : remove(agentRef(id))] }
    })

  /** The id of the session's agent. */
  linked = async (session: LinkedSession): Promise<string | undefined> => {
    const [kept] = await this.#documents.read(session.uid, [linkRef(session)])
    return kept?.fields.agentId
  }

  /** The ids of the agents to which `link` has linked the session in any project. Each id is there once, sorted by code unit. */
  linkedAgents = async (uid: string, sessionId: string): Promise<readonly string[]> => {
    const [kept] = await this.#documents.read(uid, [projectsRef(sessionId)])
    const links = (kept?.fields.projects ?? []).map((project) => linkRef({ uid, project, sessionId }))
    const found = links.length === 0 ? [] : await this.#documents.read(uid, links)
    return [...new Set(found.flatMap((link) => link?.fields.agentId ?? []))].toSorted()
  }

  /**
   * Links a session to an agent. Resolves to false and writes nothing if a new link would exceed a limit: LINKS_PER_USER for the
   * user, or LINKED_PROJECTS_MAX for the session. A link that this service has made can always be changed.
   */
  link = (session: LinkedSession, agentId: string, nowMs: number): Promise<boolean> =>
    this.#changeLink(session, (before, projects, links) => {
      const { sessionId, project = NO_PROJECT } = session
      const isKnown = projects.includes(project)
      if (!isKnown && projects.length >= LINKED_PROJECTS_MAX) return { result: false }
      if (!before && links >= LINKS_PER_USER) return { result: false }
      const link = { created: nowMs, ...before, sessionId, agentId, updated: nowMs }
      return {
        result: true,
        writes: [
          put(LINK_COUNT, { links: links + (before ? 0 : 1) }),
          put(linkRef(session), link),
          ...(isKnown ? [] : [put(projectsRef(sessionId), { projects: [...projects, project] })]),
        ],
      }
    })

  /** Removes the link from a session to its agent. Resolves to false if there was none. */
  unlink = (session: LinkedSession): Promise<boolean> =>
    this.#changeLink(session, (before, projects, links) => {
      if (!before) return { result: false }
      const { sessionId, project = NO_PROJECT } = session
      const left = projects.filter((one) => one !== project)
      const index = projectsRef(sessionId)
      return {
        result: true,
        writes: [
          put(LINK_COUNT, { links: Math.max(0, links - 1) }),
          remove(linkRef(session)),
          left.length === 0 ? remove(index) : put(index, { projects: left }),
        ],
      }
    })

  #changeLink(
    session: LinkedSession,
    plan: (
      before: Link | undefined,
      projects: readonly string[],
      links: number,
    ) => ReturnType<Parameters<Documents['change']>[2]> & { readonly result: boolean },
  ): Promise<boolean> {
    const refs = [LINK_COUNT, linkRef(session), projectsRef(session.sessionId)] as const
    return this.#documents.change(session.uid, refs, ([count, link, projects]) =>
      plan(link?.fields, projects?.fields.projects ?? [], count?.fields.links ?? 0),
    )
  }
}

/** Stands for "no project" in keys, and in the list of a session's projects. The id of a project is never empty. */
const NO_PROJECT = ''

function agentRef(key: string): Ref<Agent> {
  return { of: AGENTS, key }
}

/** A slash separates the project from the session, because no id has a slash. */
function linkRef({ project = NO_PROJECT, sessionId }: LinkedSession): Ref<Link> {
  return { of: LINKS, key: `${project}/${sessionId}` }
}

function projectsRef(key: string): Ref<{ readonly projects: readonly string[] }> {
  return { of: PROJECTS, key }
}

function linkPath(key: string): readonly string[] {
  const [project = NO_PROJECT, session = ''] = key.split('/')
  return [...(project === NO_PROJECT ? [] : ['projects', project]), 'agentSessions', session]
}

function linkIn({ agentId, created, updated }: JsonObject, key: string): Link | undefined {
  if (typeof agentId !== 'string') return undefined
  const times = {
    ...(typeof created === 'number' && { created }),
    ...(typeof updated === 'number' && { updated }),
  }
  return { sessionId: key.slice(key.indexOf('/') + 1), agentId, ...times }
}

/**
 * Reads a document that this service or the original one has written. A field that another program has left out or damaged counts
 * as absent.
 */
function agentIn(
  { name, description, workflowName, created, updated, tools, inputSchema }: JsonObject,
  id: string,
): Agent {
  const createdMs = typeof created === 'number' ? created : 0
  return {
    id,
    name: textOr(name) ?? id,
    description: textOr(description),
    workflowName: textOr(workflowName),
    created: createdMs,
    updated: typeof updated === 'number' ? updated : createdMs,
    ...(Array.isArray(tools) && { tools: textsIn(tools) }),
    ...(isJsonObject(inputSchema) && { inputSchema }),
  }
}

function textOr(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
