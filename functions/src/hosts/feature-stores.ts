import { ApprovalStore } from '../calls/approvals/approval-store.ts'
import { IdempotencyKeys } from '../calls/once/idempotency-keys.ts'
import { RuleStore } from '../calls/rules/rule-store.ts'
import { AgentStore } from '../tools/agents/agent-store.ts'
import { SessionStore } from '../tools/sessions/session-store.ts'
import { UsageStore } from '../tools/usage/usage-store.ts'
import type { Sealing } from '../calls/sealing.ts'
import type { Documents } from '../documents/documents.ts'

/** What features keep. */
export type Governance = {
  /** The documents, by this clock: milliseconds since 1970. */
  readonly documents: (now: () => number) => Documents
  /** Seals the arguments of approvals and the results of keys. Without it, no text with a recognised secret is kept. */
  readonly sealing?: Sealing | undefined
  /** An id of this process, if no other process uses the documents. */
  readonly process?: string
  readonly close: () => Promise<void>
}

/** What each feature keeps, over the documents of the host. */
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
