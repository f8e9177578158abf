import type { InvocationLogs } from '../../calls/invocation-logs.ts'
import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import type { ShowCall } from '../../calls/pipeline/steps.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import { ToolSearch } from '../../catalog/search/tool-search.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { FileMarks } from '../approvals/file-marks.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { IdempotencyKeys } from '../once/idempotency-keys.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Sealing } from '../../calls/sealing.ts'
import { callRoutes } from './call-routes.ts'
import { invokerOf } from './invoker-of.ts'
import { simulation } from './simulate.ts'
import { simulateRoute } from './simulate-route.ts'

type Needs = Pick<RunParts, 'callLimits' | 'sourceOf'> & {
  readonly documents: Documents
  readonly governance: { readonly sealing?: Sealing | undefined; readonly process?: string | undefined }
  readonly listed: ListedCatalog
  readonly sessions: Sessions
  readonly ruleBook: RuleBook
  readonly approvals: Approvals
  readonly fileMarks: FileMarks
  readonly argumentValidator: ArgumentValidator
  readonly runner: Runner
  readonly logs: InvocationLogs
  readonly audit?: AuditTrail | undefined
  readonly log: Log
  /** Shows each call to the operator. Only the embedded server has a terminal. */
  readonly showCall?: ShowCall | undefined
  readonly now: () => number
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
}

/** Calls of tools: one, several at once, and what would become of one. */
export const calling = {
  name: 'calling',
  create({ documents, governance, listed, argumentValidator, deadlineMsMax = Infinity, ...parts }: Needs) {
    const { sealing, process } = governance
    const keys = new IdempotencyKeys(documents, { now: parts.now, process })
    const search = new ToolSearch()
    const own = { catalog: listed, validator: argumentValidator, search, keys, sealing, deadlineMsMax }
    const calls = { ...parts, ...own }
    return { search, invoker: invokerOf(calls), simulate: simulation(calls) }
  },
  routes: (parts: Parameters<typeof callRoutes>[0] & Parameters<typeof simulateRoute>[0]) => [
    ...callRoutes(parts),
    simulateRoute(parts),
  ],
}
