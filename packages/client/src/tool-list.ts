import type { JsonObject, Layer, ListedTool } from '@toolrack/contract'
import type { LossCode } from './service-loss.ts'

/** What is known of a layer: how many definitions it gave, or that it was read from memory, or not at all. */
export type LayerState = number | 'stale' | 'error'

/** Why the list is not the service's own answer of this moment. */
export type FallbackReason = {
  readonly code: LossCode
  /** A sentence for a log. */
  readonly message: string
}

/** The tools for one model call, and where they come from. */
export type ToolList<Tool extends JsonObject | ListedTool = ListedTool> = {
  /** What the model's `tools` field takes: hand it over as it is. The array is the caller's own, its elements are not. */
  readonly tools: Tool[]
  /** `remembered` is the last good answer to the same question, `local` the definitions that came with the client. */
  readonly source: 'service' | 'remembered' | 'local'
  /** Null where the service has answered. */
  readonly reason: FallbackReason | null
  /** The revision of the catalog; null with local tools. */
  readonly revision: string | null
  /** What each layer gave; null with local tools. */
  readonly layers: Readonly<Partial<Record<Layer, LayerState>>> | null
  /** Requested names that no tool has, the first twenty. */
  readonly unknown: readonly string[]
  /** Tools that the dialect can not express, the first twenty. */
  readonly quarantined: readonly string[]
}
