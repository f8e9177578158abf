import { AgentStore } from '../../functions/src/features/agents/agent-store.ts'
import { ApprovalStore } from '../../functions/src/features/approvals/approval-store.ts'
import type { Governance } from '../../functions/src/features/host-parts.ts'
import { IdempotencyKeys } from '../../functions/src/features/once/idempotency-keys.ts'
import { RuleStore } from '../../functions/src/features/rules/rule-store.ts'
import { SessionStore } from '../../functions/src/features/sessions/session-store.ts'
import { UsageStore } from '../../functions/src/features/usage/usage-store.ts'

/** What each feature keeps, over the documents of a host, as the features themselves open it. */
export function featureStores(
  { documents: open, process }: Pick<Governance, 'documents' | 'process'>,
  now: () => number,
) {
  const documents = open(now)
  return {
    documents,
    agents: new AgentStore(documents),
    approvals: new ApprovalStore(documents),
    keys: new IdempotencyKeys(documents, { now, process }),
    rules: new RuleStore(documents),
    sessions: new SessionStore(documents),
    usage: new UsageStore(documents),
  }
}
