import type { Digest } from './definition-digest.ts'
import type { JsonValue } from './json.ts'
import type { ToolResult } from './tool-result.ts'

/** What a call used, as the kernel counted it. */
export type ResourceUsage = {
  readonly wallMs: number
  readonly cpuMs: number
  readonly maxRssBytes: number
}

/** What the service says of a call beside its result; null where the call did not come so far. */
export type InvocationMeta = {
  readonly invocationId: string
  /** The canonical name of the tool; of one that was not found, null. */
  readonly tool: string | null
  readonly digest: Digest | null
  /** Of the catalog that the tool was looked up in. */
  readonly revision: string | null
  /** The measured level that the tool was isolated at; null where nothing ran, or the service itself ran it. */
  readonly isolation: string | null
  readonly executionTimeMs: number
  readonly resourceUsage: ResourceUsage | null
  /** Whether the result is that of an earlier call. */
  readonly replayed: boolean
  /** The id of the artifact that holds the whole result, where one does. */
  readonly artifact?: string
  /** The approval that the call waits for, where it does. `expiresAt` is RFC 3339, UTC. */
  readonly approval?: { readonly id: string; readonly expiresAt: string }
}

/** The answer to one call. */
export type InvocationResult<Data = JsonValue> = ToolResult<Data> & { readonly meta: InvocationMeta }
