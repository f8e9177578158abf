import { effectsOf, toolResult, type RuleDecision, type ToolClass, type ToolLimits } from '@toolrack/contract'
import type { ApprovalState } from '../approvals/approval.ts'
import { foreseeApproval, type ApprovalStepParts } from '../approvals/approval-steps.ts'
import type { ForeseenApproval } from '../approvals/approvals.ts'
import { outcomeOf, type Authorised, type CallOutcome } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { resumed, type ResumeParts } from '../failures/resume-fallback.ts'
import { limitsOf, type RunParts } from '../../calls/pipeline/run-tool.ts'

/** What a dry run answers: the decision of the rules, the approval that the call would need, and what its tool may do. */
export type DryRun = {
  readonly decision: RuleDecision['effect']
  readonly rule: RuleDecision['rule']
  readonly owner: RuleDecision['owner']
  readonly reason: string
  readonly effects: readonly ToolClass[]
  readonly limits: ToolLimits
  /** The approval with which the call would run, or for which it would wait. Missing if it needs none, or if none exists yet. */
  readonly approval?: ForeseenApproval['approval']
}

export type DryRunParts = ApprovalStepParts & Pick<RunParts, 'deadlineMsMax' | 'callLimits'>

type EndParts = DryRunParts & ResumeParts

/**
 * Ends a dry run, so that the handler of the tool never runs. Before this step, all other checks that can refuse the call have
 * been made. The later steps would use up a key or an approval. So this step only looks up the approval that the later step would
 * find. If the call names an approval of a fallback, the answer is the dry run of the fallback, because only the fallback would be
 * called.
 */
export function endDryRun(parts: EndParts): Step<Authorised> {
  return (call, next) => (call.isDryRun ? endedDryRun(call, parts) : next(call))
}

async function endedDryRun(call: Authorised, parts: EndParts): Promise<CallOutcome> {
  const ofFallback = call.request.approval === undefined ? undefined : await resumed(parts, call)
  return ofFallback ?? outcomeOf(call, toolResult(await dryRunOf(call, parts)))
}

/** Says what would happen to a call that no step has refused so far. Throws what `awaitApproval` would throw. */
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
