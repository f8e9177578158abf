import type { Principal } from '../access/principal.ts'
import type { SignJobToken } from '../access/job-token.ts'
import type { AuditTrail } from '../features/audit/audit-trail.ts'
import type { Approvals } from '../features/approvals/approvals.ts'
import type { CheckEdited } from '../features/approvals/check-edited.ts'
import type { ShowArguments } from '../features/approvals/show-arguments.ts'
import type { HeldResults } from '../features/calling/held-results.ts'
import type { InvocationLogs } from '../calls/invocation-logs.ts'
import type { Invoker } from '../calls/pipeline/invoker.ts'
import type { Simulate } from '../features/calling/simulate.ts'
import type { RuleBook } from '../features/rules/rule-book.ts'
import type { RuleWriter } from '../features/rules/rule-writer.ts'
import type { RuledCatalog } from '../features/rules/ruled-catalog.ts'
import type { IncomingMessage } from 'node:http'
import type { QueueState } from '../fair-queue.ts'
import type { LoopWatch } from '../loop-watch.ts'
import type { Agents } from '../features/agents/agents.ts'
import type { Catalog } from '../catalog/views/catalog.ts'
import type { ChangeFeeds } from '../features/changes/change-feeds.ts'
import type { Narrowed, PastViews } from '../features/changes/past-views.ts'
import type { ItemWorkflows } from '../catalog/views/list-answer.ts'
import type { Envelope, ItemNames } from '../catalog/views/list-query.ts'
import type { DefinitionStore } from '../catalog/definitions/definition-store.ts'
import type { DefinitionWriter } from '../catalog/definitions/definition-writer.ts'
import type { FolderLayers } from '../features/folder/folder-layers.ts'
import type { ModuleReader } from '../catalog/definitions/module-reader.ts'
import type { ModuleWriter } from '../catalog/definitions/module-writer.ts'
import type { UsageRanks } from '../features/usage/usage-ranks.ts'
import type { ToolSearch } from '../catalog/search/tool-search.ts'
import type { Sessions } from '../features/sessions/sessions.ts'
import type { SessionStore } from '../features/sessions/session-store.ts'
import type { SessionWriter } from '../features/sessions/session-writer.ts'
import type { StoredScopes } from '../features/scopes/stored-scopes.ts'
import type { Runner } from '../catalog/definitions/runner.ts'

/** The parts of the service that the handlers of the routes use. */
export type RouteParts = ItemWorkflows & {
  readonly catalog: Catalog
  /** The catalog without the tools that rules hide. */
  readonly listed: RuledCatalog
  readonly search: ToolSearch
  readonly changes: {
    readonly feeds: ChangeFeeds<Principal & Narrowed>
    readonly views: PastViews<Principal & Narrowed>
  }
  readonly ruleBook: RuleBook
  readonly usageRanks: UsageRanks
  readonly ruleWriter: RuleWriter
  readonly sessions: Sessions
  readonly sessionStore: SessionStore
  readonly sessionWriter: SessionWriter
  readonly scopes: StoredScopes
  /** The envelope of a list whose query names none. */
  readonly envelope: Envelope
  /** Which names the items of a list have. By default the canonical ones. */
  readonly itemNames?: ItemNames | undefined
  readonly invoker: Invoker
  readonly simulate: Simulate
  readonly logs: InvocationLogs
  /** Undefined if the operator has switched it off. */
  readonly audit?: AuditTrail | undefined
  readonly approvals: Approvals
  readonly agents: Agents
  readonly checkEdited: CheckEdited
  readonly showArguments: ShowArguments
  readonly heldResults?: HeldResults
  /** True for a request that came through a proxy that passes on an answer only when it is whole. */
  readonly isBehindBuffer?: (request: IncomingMessage) => boolean
  readonly store: DefinitionStore
  readonly writer: DefinitionWriter
  readonly modules: { readonly reader: ModuleReader; readonly writer: ModuleWriter }
  /** The watched folder of modules, as a part of the file layer. */
  readonly folder?: FolderLayers | undefined
  /** Undefined on a server that has no keys for job tokens. */
  readonly signJobToken?: SignJobToken | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly runner: Runner
  readonly compilers: { readonly state: QueueState }
  readonly argumentValidator: { readonly state: QueueState }
  readonly loopWatch: Pick<LoopWatch, 'delays'>
}
