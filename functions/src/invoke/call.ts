import type { Digest, JsonObject, ResourceUsage, ToolLimits, ToolResult } from '@toolrack/contract'
import type { Principal } from '../access/principal.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { HowRun } from '../catalog/how-run.ts'
import type { IsolationLevel, PrintedLog } from './runner.ts'

/** What is asked for, parsed. */
export type CallRequest = {
  /** A name or an alias. */
  readonly name: string
  readonly arguments: JsonObject
  readonly context: JsonObject
  readonly expectedDigest: Digest | undefined
  /** Whether null says of a parameter that takes none that it is left out, as models write it that have to write all. */
  readonly nullLeavesOut?: boolean
}

/** A call whose tool is known. */
export type Call = {
  readonly invocationId: string
  readonly principal: Principal
  readonly request: CallRequest
  readonly view: CatalogView
  readonly entry: CatalogEntry
  readonly howRun: HowRun
  readonly limits: ToolLimits
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** What came of a call, with what is told of it beside the result. */
export type Outcome = {
  readonly result: ToolResult
  readonly isolation: IsolationLevel | null
  readonly usage: ResourceUsage | null
  readonly log: PrintedLog | null
  readonly executionTimeMs: number
  readonly retryAfterSeconds: number | null
}
