import type { OwnedRules } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import type { SignJobToken } from '../access/job-token.ts'
import type { InvocationLogs } from '../calls/invocation-logs.ts'
import type { RunParts, SourceOf } from '../calls/pipeline/run-tool.ts'
import type { ShowCall } from '../calls/pipeline/steps.ts'
import type { Sealing } from '../calls/sealing.ts'
import type { DefinitionStore } from '../catalog/definitions/definition-store.ts'
import type { Runner } from '../catalog/definitions/runner.ts'
import type { SchemaCompilers } from '../catalog/schemas/schema-compilers.ts'
import type { LayerRead, LayerSource } from '../catalog/views/layer-source.ts'
import type { Documents } from '../documents/documents.ts'
import type { Log } from '../log.ts'
import type { Signal } from '../signal.ts'
import type { AgentFiles } from './agents/agent-files.ts'
import type { Announce } from './approvals/approvals.ts'
import type { ArtifactBytes } from './artifacts/artifact-bytes.ts'
import type { AuditTrail } from './audit/audit-trail.ts'
import type { HeldResults } from './calling/held-results.ts'
import type { Bounds } from './changes/change-feeds.ts'
import type { FolderNews } from './folder/folder-news.ts'
import type { SecretKeys } from './secrets/secret-keys.ts'

/** Where a host keeps what features store. */
export type Governance = {
  /** Makes the store of documents. `now` is its clock, in milliseconds since 1970. */
  readonly documents: (now: () => number) => Documents
  /**
   * Seals the arguments of approvals, and the results that are kept for an Idempotency-Key. Without it, arguments are kept
   * without the secrets that are recognized in them, and a result with a recognized secret is not kept.
   */
  readonly sealing?: Sealing | undefined
  /** Seals the secrets that users store for tools. Without it, no secrets are kept. */
  readonly secretKeys?: SecretKeys | undefined
  /** An id of this process. Undefined if other processes use the documents too. */
  readonly process?: string | undefined
  readonly close: () => Promise<void>
}

/** Signals by which one feature tells others of an event, without knowing them. */
export type Signals = {
  /** The modules of a watched folder have changed. */
  readonly filesChanged: Signal
  /** A watched folder has news, which are shown to the operator. */
  readonly filesNews: Signal
  /** The file layer was read. */
  readonly filesRead: Signal<LayerRead>
  /** This instance has written something that changes lists. */
  readonly written: Signal
}

/** The parts that differ between hosts, or between hosts and tests. */
export type HostParts = {
  readonly openStore: (compilers: SchemaCompilers) => DefinitionStore
  /** Opens the definition files, which are one part of the file layer. */
  readonly files: (compilers: SchemaCompilers) => LayerSource
  readonly governance: Governance
  /** The documents of all features. */
  readonly documents: Documents
  readonly logs: InvocationLogs
  readonly runner: Runner
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds of a clock that never jumps, for durations. The default is `performance.now`. */
  readonly steadyMs?: (() => number) | undefined
  readonly signals: Signals
  /** The audit trail. Undefined if the operator has switched it off. */
  readonly audit?: AuditTrail | undefined
  /** The agents in files. */
  readonly agentFiles?: AgentFiles | undefined
  /** Tells the operator about new approvals. */
  readonly webhook?: { readonly announce: Announce; close(): void } | undefined
  /** The operator's rules for everybody. */
  readonly operatorRules?: OwnedRules | undefined
  /** The paths of watched folders with modules. Their tools are in the file layer. Only the embedded server has such folders. */
  readonly toolsFolders?: readonly string[] | undefined
  /**
   * Set on a host with a data folder. `isUpgrade`: the folder was used before. If it has no record of grants, it is older than
   * them, and modules in watched folders keep the network that they had.
   */
  readonly folderGrants?: { readonly isUpgrade: boolean } | undefined
  /** Finds the source of a module. The default looks in the store and in the watched folders. */
  readonly sourceOf?: SourceOf | undefined
  /** Shows each call to the operator. Only the embedded server has a terminal. */
  readonly showCall?: ShowCall | undefined
  /** Shows the operator what has happened to a file of a folder. By default, the log says it. */
  readonly showModule?: ((news: FolderNews) => void) | undefined
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
  /** The limits of calls whose definition sets none. */
  readonly callLimits?: RunParts['callLimits']
  readonly heldResults?: HeldResults | undefined
  /** Keeps the bytes of artifacts. Without it, the service keeps no artifacts. */
  readonly artifactBytes?: ArtifactBytes | undefined
  /** How many change feeds may be open. */
  readonly feedBounds?: Bounds | undefined
  /** Undefined on a server that has no keys for job tokens. */
  readonly signJobToken?: SignJobToken | undefined
  /** True for a request that came through a proxy that passes on an answer only when it is whole. */
  readonly isBehindBuffer?: ((request: IncomingMessage) => boolean) | undefined
}
