import { GRANT_POLICIES } from '../../catalog/definitions/decide-consent.ts'
import { choice } from '../../settings/variables.ts'

/** The variable by which the operator answers the grants of modules in advance. */
export const GRANT_SETTINGS = { TOOLRACK_GRANTS: choice(GRANT_POLICIES, 'ask') }
