import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { CallCounts } from './call-counts.ts'
import { HourStore } from './hour-store.ts'
import { ListTokens } from './list-tokens.ts'
import { statisticsRoutes } from './statistics-routes.ts'

type Needs = {
  readonly documents: Documents
  readonly now: () => number
  readonly log: Log
}

/** Counts calls and lists, for statistics, for the ranks of tools and for `/metrics`. */
export const statistics = {
  name: 'statistics',
  create({ documents, now, log }: Needs) {
    const store = new HourStore(documents)
    const callCounts = new CallCounts({ store, listTokens: new ListTokens(), now, log })
    const { countCall, countList } = callCounts
    return { callCounts, countCall, countList }
  },
  routes: statisticsRoutes,
  close: ({ callCounts }: { readonly callCounts: CallCounts }) => callCounts.close(),
}
