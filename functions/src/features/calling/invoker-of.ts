import { Invoker, type InvokeParts } from '../../calls/pipeline/invoker.ts'
import { callSteps, type DecidingSteps, type FeatureSteps } from '../../calls/pipeline/steps.ts'
import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import { awaitApproval, takeEditedArguments, type ApprovalStepParts } from '../approvals/approval-steps.ts'
import { auditCall, auditStart, noteStart } from '../audit/audit-call.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { atMostOnce, type OnceParts } from '../once/at-most-once.ts'
import { authoriseCall, type AuthoriseParts } from '../rules/authorise.ts'
import { endDryRun } from './dry-run.ts'

export type DecidingParts = ApprovalStepParts & AuthoriseParts

export type FeatureStepParts = DecidingParts &
  OnceParts &
  Pick<RunParts, 'deadlineMsMax' | 'callLimits'> & {
    /** Without it, no call is recorded. */
    readonly audit?: AuditTrail | undefined
  }

/** The parts of an invoker, and of the features whose steps its calls take. */
export type CallParts = Omit<InvokeParts, 'steps'> & FeatureStepParts

/** Returns the invoker whose calls take the steps of all features. Tests pass other `take`. */
export function invokerOf(parts: CallParts, take: typeof callSteps = callSteps): Invoker {
  return new Invoker({ ...parts, steps: stepsOfFeatures(parts) }, take)
}

/** The steps with which features decide about a call. */
export function decidingStepsOf(parts: DecidingParts): DecidingSteps {
  return {
    'take edited arguments': takeEditedArguments(parts),
    'authorise the call': authoriseCall(parts),
  }
}

function stepsOfFeatures(parts: FeatureStepParts): FeatureSteps {
  const { audit } = parts
  return {
    ...decidingStepsOf(parts),
    'end a dry run': endDryRun(parts),
    'run at most once': atMostOnce(parts),
    'await the approval': awaitApproval(parts),
    'audit the call': audit && auditCall(audit),
    'record the start': audit?.isRequired ? auditStart(audit) : undefined,
    'note the start': audit && !audit.isRequired ? (run) => noteStart(audit, run) : undefined,
  }
}
