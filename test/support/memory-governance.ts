import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import { newSealingKey, parseSealingKey, type Sealing } from '../../functions/src/calls/sealing.ts'
import type { Governance } from '../../functions/src/features/host-parts.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'

/** The embedded store of what governs calls, without a file. */
export function memoryGovernance(): Governance {
  return embeddedGovernance(openGovernance(':memory:'), newSealing())
}

/** A key of its own. */
export function newSealing(): Sealing {
  const sealing = parseSealingKey(newSealingKey())
  if (!sealing) throw new Error('a new key is none')
  return sealing
}
