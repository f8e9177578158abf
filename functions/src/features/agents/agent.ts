import type { JsonObject } from '@toolrack/contract'

/** The most agents of one user, and of one list. With the input schemas, a list has at most 7 MB. */
export const AGENTS_PER_USER = 200
/**
 * The most links from sessions to agents that one user may have, in all projects. Each link is a small document. Links that the
 * original service has made are not counted.
 */
export const LINKS_PER_USER = 10_000
/** The most projects in which one session is linked to an agent. Each call through the session reads all these links. */
export const LINKED_PROJECTS_MAX = 100
/** The most tools of an agent. The parameter `names` of a list takes no more names. */
export const AGENT_TOOLS_MAX = 200

/**
 * An agent as the original service, which Toolrack replaces, stores and answers it. The fields are in the order of its answers.
 */
export type Agent = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly workflowName: string | null
  /** Milliseconds since 1970. */
  readonly created: number
  readonly updated: number
  /** Undefined if they were never set: then the agent has DEFAULT_TOOLS. */
  readonly tools?: readonly string[]
  readonly inputSchema?: JsonObject
}

/** An agent that no request can change: one in a file, or the one that always exists. */
export type FixedAgent = Omit<Agent, 'created' | 'updated'> & { readonly source: 'file' | 'default' }

/**
 * The tools of an agent whose tools were never set. The clients of the original service, which Toolrack replaces, take an empty
 * list as "the defaults of the client".
 */
export const DEFAULT_TOOLS: readonly string[] = []

export const DEFAULT_AGENT: FixedAgent = {
  id: 'default',
  name: 'Default',
  description: null,
  workflowName: null,
  source: 'default',
}

/** Ids that have another meaning in the addresses of agents. No agent can be created with one of these ids. */
const RESERVED_IDS: ReadonlySet<string> = new Set(['session', 'default', 'runs', 'tools'])

export function isReservedId(id: string): boolean {
  return RESERVED_IDS.has(id)
}

/**
 * The id of an agent. It is safe as a part of a path. The ids that the original service has made, 20 letters and digits, are
 * valid too.
 */
const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/

export const AGENT_ID_RULE = 'must be 1 to 200 letters, digits, _ . or - (ASCII), a letter or digit first'

export function isAgentId(id: string): boolean {
  return AGENT_ID.test(id)
}

/** Makes an id of a name: lower case, with hyphens. Empty if the name has no ASCII letter or digit. */
export function agentIdOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/**
 * Ids of sessions and projects, which other programs choose. Such an id can be the id of a document in Firestore, but is never a
 * path.
 */
const OUTER_ID = /^(?!\.{1,2}$|__.*__$)[^/\p{Cc}\p{Cs}]{1,200}$/u

export const OUTER_ID_RULE =
  'must be 1 to 200 characters without / and control characters, and not . or .. or __…__'

export function isOuterId(id: string): boolean {
  return OUTER_ID.test(id)
}
