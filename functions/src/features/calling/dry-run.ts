import { effectsOf, toolResult, type RuleDecision, type ToolClass, type ToolLimits } from '@toolrack/contract'
import type { ApprovalState } from '../approvals/approval.ts'
import { foreseeApproval, type ApprovalStepParts } from '../approvals/approval-steps.ts'
import type { ForeseenApproval } from '../approvals/approvals.ts'
import { outcomeOf, type Authorised } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { limitsOf, type RunParts } from '../../calls/pipeline/run-tool.ts'

/** The decision that the rules and the approval would make about a call, and what its tool may do. */
export type DryRun = {
  readonly decision: RuleDecision['effect']
  readonly rule: RuleDecision['rule']
  readonly owner: RuleDecision['owner']
  readonly reason: string
  readonly effects: readonly ToolClass[]
  readonly limits: ToolLimits
  /** The approval with which the call would run, or for which it would wait. Missing if there is none. */
  readonly approval?: ForeseenApproval['approval']
}

export type DryRunParts = ApprovalStepParts & Pick<RunParts, 'deadlineMsMax' | 'callLimits'>

/**
 * Ends a dry run, so its handler never runs. All steps that can refuse a call before it takes a key or asks for an approval come
 * before this step. This step looks up the approval that a later step would find, and does not use it up.
 */
export function endDryRun(parts: DryRunParts): Step<Authorised> {
  return (call, next) =>
    call.isDryRun
      ? dryRunOf(call, parts).then((foreseen) => outcomeOf(call, toolResult(foreseen)))
      : next(call)
}

/** Says what would happen to a call that no step has refused. Throws as the step that awaits the approval does. */
export async function dryRunOf(call: Authorised, parts: DryRunParts): Promise<DryRun> {
  const { decision, entry } = call
  const { effect, rule, owner, reason } = decision
  const foreseen = await foreseeApproval(parts, call)
  const { isWaiting, approval }: ForeseenApproval = foreseen ?? { isWaiting: effect === 'ask' }
  return {
    decision: isWaiting ? 'ask' : 'allow',
    rule,
    owner,
    reason: isWaiting || effect === 'allow' ? reason : `${reason} ${answerOf(approval?.status)}`,
    effects: effectsOf(entry.classes),
    limits: limitsOf(call, parts),
    ...(approval && { approval }),
  }
}

function answerOf(status: ApprovalState | undefined): string {
  if (status === 'approved') return 'This call was approved.'
  return status === 'session' ? 'It is answered for the session.' : 'It is answered for always.'
}
