import { toolFailure, type RuleDecision } from '@toolrack/contract'
import { outcomeOf, type Authorised, type Resolved } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { RuleBook } from './rule-book.ts'
import type { RulesInForce } from './rules-in-force.ts'

export type AuthoriseParts = { readonly ruleBook: Pick<RuleBook, 'of'> }

/** Adds the decision of the rules to the call, for the inner steps. If a rule denies the call, the call ends here. */
export function authoriseCall({ ruleBook }: AuthoriseParts): Step<Resolved, Authorised> {
  return async (call, next) => {
    const rules = await ruleBook.of(call.principal, call.session)
    const decision = rules.decide(call.entry, call.request.arguments)
    if (decision.effect === 'allow') return next({ ...call, decision })
    if (decision.effect === 'ask')
      return next({ ...call, decision, asks: rules.asks(call.entry, call.request.arguments) })
    const failure = toolFailure('PERMISSION_DENIED', refusal(rules, call.entry, decision))
    return outcomeOf({ ...call, decision }, failure)
  }
}

/** Says to the model which rule has denied the call, and whether other arguments could make a difference. */
function refusal(rules: RulesInForce, entry: CatalogEntry, { reason }: RuleDecision): string {
  const how = rules.hides(entry) ? '' : ' with these arguments'
  return `${entry.name} may not be called${how}; nothing was run. ${reason}`
}
