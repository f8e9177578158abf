import type { OwnedRules } from '@toolrack/contract'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { Signal } from '../../signal.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import type { LinkedAgents } from '../agents/feature.ts'
import { authoriseCall, type AuthoriseParts } from './authorise.ts'
import { operatorRulesReport } from './report-operator-rules.ts'
import { RuleBook } from './rule-book.ts'
import { ruleRoutes } from './rule-routes.ts'
import { RuleStore } from './rule-store.ts'
import { RuleWriter } from './rule-writer.ts'
import { RuledCatalog } from './ruled-catalog.ts'

type Needs = {
  readonly documents: Documents
  readonly agentStore: AgentStore
  readonly catalog: Catalog
  /** The operator's rules for everybody. */
  readonly operatorRules?: OwnedRules | undefined
  readonly relinked: Signal<LinkedAgents>
  readonly log: Log
  readonly now: () => number
  readonly signals: { readonly written: Signal }
}

/** The rules about calls, and the catalog without the tools that these rules hide. */
export const rules = {
  name: 'rules',
  create({ documents, agentStore, catalog, operatorRules, relinked, log, now, signals }: Needs) {
    const ruleStore = new RuleStore(documents)
    const ruleBook = new RuleBook({
      store: ruleStore,
      agents: agentStore,
      log,
      operator: operatorRules,
      written: signals.written.tell,
    })
    relinked.listen(({ uid, sessionId }) => ruleBook.linked(uid, sessionId))
    return {
      ruleStore,
      ruleBook,
      ruleWriter: new RuleWriter({ store: ruleStore, book: ruleBook, now }),
      listed: new RuledCatalog(catalog, ruleBook),
      reportOperatorRules: operatorRulesReport(operatorRules, log),
    }
  },
  steps: (parts: AuthoriseParts) => ({ 'authorise the call': authoriseCall(parts) }),
  routes: ruleRoutes,
}
