import { describe } from '@jest/globals'
import { agentStoreContract } from './agent-store.contract.ts'
import { approvalStoreContract } from './approval-store.contract.ts'
import { idempotencyKeysContract } from './idempotency-keys.contract.ts'
import { ruleStoreContract } from './rule-store.contract.ts'
import { scopeStoreContract } from './scope-store.contract.ts'
import { sessionStoreContract } from './session-store.contract.ts'
import type { TwoDocuments } from './two-stores.ts'
import { usageStoreContract } from './usage-store.contract.ts'

/** What each feature that keeps something guarantees over every adapter of the documents. */
export function featureStoresContract(open: () => TwoDocuments): void {
  describe('agents', () => agentStoreContract(open))
  describe('approvals', () => approvalStoreContract(open))
  describe('keys of calls', () => idempotencyKeysContract(open))
  describe('rules', () => ruleStoreContract(open))
  describe('scopes', () => scopeStoreContract(open))
  describe('sessions', () => sessionStoreContract(open))
  describe('use of tools', () => usageStoreContract(open))
}
