import type { InvocationLogs } from '../../calls/invocation-logs.ts'
import type { Log } from '../../log.ts'
import type { UsageStore } from './usage-store.ts'
import { UsageRanks } from './usage-ranks.ts'

type Needs = {
  readonly governance: { readonly usage: UsageStore }
  readonly logs: InvocationLogs
  readonly now: () => number
  readonly log: Log
}

/** The order of a user's tools by their calls, for lists with a budget. */
export const usage = {
  name: 'usage',
  create({ governance, logs, now, log }: Needs) {
    return {
      usageRanks: new UsageRanks({
        store: governance.usage,
        calls: (uid, since, limit) => logs.page(uid, { since, limit }),
        now,
        log,
      }),
    }
  },
}
