import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { VariableValues } from '../../settings/variables.ts'
import { CallLimiter } from './call-limiter.ts'
import { Leases } from './leases.ts'
import { limitCalls, type LimitStepParts } from './limit-calls.ts'
import { limitRoutes } from './limit-routes.ts'
import { LIMIT_SETTINGS, usualLimits } from './limit-settings.ts'
import { OwnerLimits } from './owner-limits.ts'

/** A clock that never goes back. */
function clock(): number {
  return performance.now()
}

type Needs = {
  readonly documents: Documents
  /** `process`: an id of this process. Undefined if other processes use the documents too. */
  readonly governance: { readonly process?: string | undefined }
  readonly now: () => number
  readonly log: Log
  readonly settings: VariableValues<typeof LIMIT_SETTINGS>
}

/** How many calls a user, a tool, a workflow and a job token may make a minute, and at once. */
export const limits = {
  name: 'limits',
  settings: LIMIT_SETTINGS,
  create({ documents, governance, now, log, settings }: Needs) {
    const isShared = governance.process === undefined
    const parts = { documents, now, log, clock }
    return {
      usualLimits: usualLimits(settings, isShared),
      ownerLimits: new OwnerLimits({ ...parts, isShared }),
      callLimiter: new CallLimiter({ leases: isShared ? new Leases(parts) : undefined, clock }),
    }
  },
  steps: (parts: LimitStepParts) => ({ 'limit the calls': limitCalls(parts) }),
  routes: limitRoutes,
}
