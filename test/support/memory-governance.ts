import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import type { Governance } from '../../functions/src/hosts/services.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'

/** The embedded store of what governs calls, without a file. */
export function memoryGovernance(): Governance {
  return embeddedGovernance(openGovernance(':memory:'))
}
