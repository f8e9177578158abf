import { newSealingKey, parseSealingKey, type Sealing } from '../../functions/src/calls/sealing.ts'
import type { Governance } from '../../functions/src/features/host-parts.ts'
import { newSecretKey, SecretKeys } from '../../functions/src/features/secrets/secret-keys.ts'
import { featureStores } from './feature-stores.ts'
import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'

/** The embedded store of what features keep, without a file. */
export function memoryGovernance(): Governance {
  return embeddedGovernance(openGovernance(':memory:'), newSealing(), new SecretKeys([newSecretKey()]))
}

/** What each feature keeps, without a file. */
export function memoryStores(now: () => number = Date.now) {
  return featureStores(memoryGovernance(), now)
}

/** As `memoryGovernance`, but reads and changes of documents fail with the error that `fault` gives for their first collection. */
export function faultyGovernance(
  fault: (collection: string, does: 'read' | 'change') => unknown,
  governance = memoryGovernance(),
): Governance {
  function refuse(does: 'read' | 'change', name = ''): void {
    const error = fault(name, does)
    if (error !== undefined) throw error as Error
  }
  return {
    ...governance,
    documents(now) {
      const { read, list, change, claim, history } = governance.documents(now)
      return {
        async read(owner, refs) {
          refuse('read', refs[0]?.of.name)
          return read(owner, refs)
        },
        async list(owner, of, options) {
          refuse('read', of.name)
          return list(owner, of, options)
        },
        async change(owner, refs, plan) {
          refuse('change', refs[0]?.of.name)
          return change(owner, refs, plan)
        },
        claim,
        history,
      }
    },
  }
}

/** A key of its own. */
export function newSealing(): Sealing {
  const sealing = parseSealingKey(newSealingKey())
  if (!sealing) throw new Error('a new key is none')
  return sealing
}
