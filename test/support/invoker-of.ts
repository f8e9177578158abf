import { approvals } from '../../functions/src/features/approvals/feature.ts'
import type { ApprovalStepParts } from '../../functions/src/features/approvals/approval-steps.ts'
import { audit } from '../../functions/src/features/audit/feature.ts'
import type { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import { failures } from '../../functions/src/features/failures/feature.ts'
import { endDryRun } from '../../functions/src/features/calling/dry-run.ts'
import { atMostOnce, type OnceParts } from '../../functions/src/features/once/at-most-once.ts'
import type { AuthoriseParts } from '../../functions/src/features/rules/authorise.ts'
import { rules } from '../../functions/src/features/rules/feature.ts'
import type { Authorised } from '../../functions/src/calls/call.ts'
import { Invoker, type InvokeParts } from '../../functions/src/calls/pipeline/invoker.ts'
import type { callSteps } from '../../functions/src/calls/pipeline/steps.ts'

/** The parts of an invoker, and of the features whose steps its calls take. Without `audit`, no call is recorded. */
export type CallParts = Omit<InvokeParts, 'steps'> &
  ApprovalStepParts &
  AuthoriseParts &
  OnceParts & { readonly audit?: AuditTrail | undefined }

/** An invoker whose calls take the steps of all features, over parts of a test. */
export function invokerOf(parts: CallParts, take?: typeof callSteps): Invoker {
  const steps = {
    ...rules.steps(parts),
    ...approvals.steps(parts),
    ...failures.steps(parts),
    ...audit.steps(parts),
    'run at most once': atMostOnce<Authorised>(parts),
    'end a dry run': endDryRun(parts),
  }
  return new Invoker({ ...parts, steps }, take)
}
