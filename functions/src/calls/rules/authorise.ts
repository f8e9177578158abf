import type { RuleDecision } from '@toolrack/contract'
import type { Authorised, Resolved } from '../pipeline/call.ts'
import type { Step } from '../pipeline/onion.ts'

const WITHOUT_RULES: RuleDecision = {
  effect: 'allow',
  owner: null,
  rule: null,
  reason: 'There are no rules.',
}

/** Adds what the rules say of the call, for the steps inside. */
export const authoriseCall: Step<Resolved, Authorised> = (call, next) =>
  next({ ...call, decision: WITHOUT_RULES })
