import type { Layer } from '@toolrack/contract'
import { deny, GOVERN, notByJobTokens, onLayer, type Action } from '../../access/action.ts'

/** Lists the grants that modules ask for. */
export const LIST_GRANTS = notByJobTokens('list-grants', 'A job token cannot read what modules ask for.')

/** Reads the grants of one module. */
export function readGrants({ layer }: { readonly layer: Layer }): Action {
  return onLayer('read-modules', layer)
}

/** Accepts the grants of a module, or revokes the consent. In the layers that all users share, only an admin may do so. */
export function decideGrants({ layer }: { readonly layer: Layer }): Action {
  return {
    verb: 'decide-grants',
    decide(principal) {
      const decision = GOVERN.decide(principal)
      if (!decision.allowed || layer === 'user' || principal.isAdmin) return decision
      return deny(`Only an admin may decide about the grants of modules in the ${layer} layer.`)
    },
  }
}
