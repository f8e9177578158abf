import { effectsOf, toolResult, type RuleDecision, type ToolClass, type ToolLimits } from '@toolrack/contract'
import { outcomeOf, type Authorised } from './call.ts'
import type { Step } from './onion.ts'
import { limitsOf, refuseToRun, type RunParts } from './run-tool.ts'

/** What a call would be answered by the rules, and what its tool may do. */
export type DryRun = {
  readonly decision: RuleDecision['effect']
  readonly rule: RuleDecision['rule']
  readonly owner: RuleDecision['owner']
  readonly reason: string
  readonly effects: readonly ToolClass[]
  readonly limits: ToolLimits
}

/**
 * Ends a dry run. Everything that refuses a call before it takes a key or asks for an approval lies outside this step, and what
 * `run the tool` refuses because of the definition is refused here. So no handler of a dry run ever runs.
 */
export function endDryRun(parts: Pick<RunParts, 'deadlineMsMax' | 'callLimits'>): Step<Authorised> {
  return (call, next) => {
    if (!call.isDryRun) return next(call)
    refuseToRun(call)
    return Promise.resolve(outcomeOf(call, toolResult(dryRunOf(call, parts))))
  }
}

function dryRunOf(call: Authorised, parts: Pick<RunParts, 'deadlineMsMax' | 'callLimits'>): DryRun {
  const { decision, entry } = call
  const { effect, rule, owner, reason } = decision
  const effects = effectsOf(entry.classes)
  return { decision: effect, rule, owner, reason, effects, limits: limitsOf(call, parts) }
}
