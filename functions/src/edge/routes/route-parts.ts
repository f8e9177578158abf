import type { Principal } from '../../access/principal.ts'
import type { SignJobToken } from '../../access/job-token.ts'
import type { AuditTrail } from '../../calls/audit/audit-trail.ts'
import type { Approvals } from '../../calls/approvals/approvals.ts'
import type { CheckEdited } from '../../calls/approvals/check-edited.ts'
import type { ShowArguments } from '../../calls/approvals/show-arguments.ts'
import type { HeldResults } from '../../calls/dispatch/held-results.ts'
import type { InvocationLogs } from '../../calls/pipeline/invocation-logs.ts'
import type { Invoker } from '../../calls/pipeline/invoker.ts'
import type { Simulate } from '../../calls/pipeline/simulate.ts'
import type { RuleBook } from '../../calls/rules/rule-book.ts'
import type { RuleWriter } from '../../calls/rules/rule-writer.ts'
import type { RuledCatalog } from '../../calls/rules/ruled-catalog.ts'
import type { IncomingMessage } from 'node:http'
import type { QueueState } from '../../fair-queue.ts'
import type { LoopWatch } from '../../loop-watch.ts'
import type { Agents } from '../../tools/agents/agents.ts'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { ChangeFeeds } from '../../tools/changes/change-feeds.ts'
import type { Narrowed, PastViews } from '../../tools/changes/past-views.ts'
import type { ItemWorkflows } from '../../tools/catalog/list-answer.ts'
import type { Envelope, ItemNames } from '../../tools/catalog/list-query.ts'
import type { DefinitionStore } from '../../tools/definitions/definition-store.ts'
import type { DefinitionWriter } from '../../tools/definitions/definition-writer.ts'
import type { FolderLayers } from '../../tools/folder/folder-layers.ts'
import type { ModuleReader } from '../../tools/modules/module-reader.ts'
import type { ModuleWriter } from '../../tools/modules/module-writer.ts'
import type { UsageRanks } from '../../tools/usage/usage-ranks.ts'
import type { ToolSearch } from '../../tools/search/tool-search.ts'
import type { Sessions } from '../../tools/sessions/sessions.ts'
import type { SessionStore } from '../../tools/sessions/session-store.ts'
import type { SessionWriter } from '../../tools/sessions/session-writer.ts'
import type { StoredScopes } from '../../tools/scopes/stored-scopes.ts'
import type { Runner } from '../../tools/modules/runner.ts'

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
