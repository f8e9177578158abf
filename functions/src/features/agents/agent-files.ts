import type { SkippedItem } from '../../catalog/views/layer-source.ts'
import type { FixedAgent } from './agent.ts'

/** The agents in files, and what was left out because of a fault. */
export type AgentFilesRead = {
  readonly agents: ReadonlyMap<string, FixedAgent>
  readonly skipped: readonly SkippedItem[]
}

export type AgentFiles = { readonly read: () => Promise<AgentFilesRead> }
