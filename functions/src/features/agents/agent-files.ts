import type { SkippedItem } from '../../catalog/views/layer-source.ts'
import type { FixedAgent } from './agent.ts'

/** The agents that were read from files, and the items that were left out because of a fault. */
export type AgentFilesRead = {
  readonly agents: ReadonlyMap<string, FixedAgent>
  readonly skipped: readonly SkippedItem[]
}

export type AgentFiles = { readonly read: () => Promise<AgentFilesRead> }
