import { placeOf } from '../../catalog/views/layer-source.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { Signal } from '../../signal.ts'
import type { AgentFiles } from './agent-files.ts'
import { agentRoutes } from './agent-routes.ts'
import { AgentStore } from './agent-store.ts'
import { Agents } from './agents.ts'

type Needs = {
  readonly documents: Documents
  /** The agents in files. */
  readonly agentFiles?: AgentFiles | undefined
  readonly log: Log
  readonly now: () => number
}

/** A session whose link to an agent has changed. */
export type LinkedAgents = { readonly uid: string; readonly sessionId: string }

/** Agents, with the routes that the clients of the original service use. Toolrack replaces that service. */
export const agents = {
  name: 'agents',
  create({ documents, agentFiles = NO_AGENT_FILES, log, now }: Needs) {
    const relinked = new Signal<LinkedAgents>()
    const agentStore = new AgentStore(documents)
    return {
      agentStore,
      relinked,
      agents: new Agents({
        store: agentStore,
        files: loggedAgents(agentFiles, log),
        now,
        relinked: (uid, sessionId) => relinked.tell({ uid, sessionId }),
      }),
    }
  },
  routes: agentRoutes,
}

const NO_AGENT_FILES: AgentFiles = {
  read: () => Promise.resolve({ agents: new Map(), skipped: [] }),
}

/** Returns a reader of the same files that also logs each fault in them, once. */
function loggedAgents(files: AgentFiles, log: Log): AgentFiles {
  let known = new Set<string>()
  return {
    async read() {
      const read = await files.read()
      const skipped = new Map(read.skipped.map((item) => [JSON.stringify(item), item]))
      for (const [key, item] of skipped)
        if (!known.has(key)) log.warn('agent skipped', { at: placeOf(item), reason: item.message })
      known = new Set(skipped.keys())
      return read
    },
  }
}
