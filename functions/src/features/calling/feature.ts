import type { InvocationLogs } from '../../calls/invocation-logs.ts'
import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import { Invoker } from '../../calls/pipeline/invoker.ts'
import type { CountCall } from '../../calls/pipeline/keep-call.ts'
import type { FeatureSteps, ShowCall } from '../../calls/pipeline/steps.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import { ToolSearch } from '../../catalog/search/tool-search.ts'
import type { Log } from '../../log.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { FileMarks } from '../approvals/file-marks.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { callRoutes } from './call-routes.ts'
import { endDryRun } from './dry-run.ts'
import { simulation } from './simulate.ts'
import { simulateRoute } from './simulate-route.ts'

type Needs = Pick<RunParts, 'callLimits' | 'sourceOf' | 'readsArtifacts'> & {
  /** The steps that other features have made before. */
  readonly steps: StepsOfOthers
  readonly listed: ListedCatalog
  readonly sessions: Sessions
  readonly ruleBook: RuleBook
  readonly approvals: Approvals
  readonly fileMarks: FileMarks
  readonly argumentValidator: ArgumentValidator
  readonly runner: Runner
  readonly logs: InvocationLogs
  readonly countCall?: CountCall | undefined
  readonly log: Log
  /** Shows each call to the operator. Only the embedded server has a terminal. */
  readonly showCall?: ShowCall | undefined
  readonly now: () => number
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
}

type StepsOfOthers = Omit<FeatureSteps, 'end a dry run'>

/** Calls of tools: single calls, several at once, and simulations. */
export const calling = {
  name: 'calling',
  create({ steps: others, listed, argumentValidator, deadlineMsMax = Infinity, ...parts }: Needs) {
    const search = new ToolSearch()
    const calls = { ...parts, catalog: listed, validator: argumentValidator, search, deadlineMsMax }
    const steps = { ...others, 'end a dry run': endDryRun(calls) }
    return { search, invoker: new Invoker({ ...calls, steps }), simulate: simulation({ ...calls, steps }) }
  },
  routes: (parts: Parameters<typeof callRoutes>[0] & Parameters<typeof simulateRoute>[0]) => [
    ...callRoutes(parts),
    simulateRoute(parts),
  ],
}
