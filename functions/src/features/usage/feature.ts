import type { InvocationLogs } from '../../calls/invocation-logs.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { UsageStore } from './usage-store.ts'
import { UsageRanks } from './usage-ranks.ts'

type Needs = {
  readonly documents: Documents
  readonly logs: InvocationLogs
  readonly now: () => number
  readonly log: Log
}

/** Sorts the tools of a user by how often they are called, for lists with a budget. */
export const usage = {
  name: 'usage',
  create({ documents, logs, now, log }: Needs) {
    return {
      usageRanks: new UsageRanks({
        store: new UsageStore(documents),
        calls: (uid, since, limit) => logs.page(uid, { since, limit }),
        now,
        log,
      }),
    }
  },
}
