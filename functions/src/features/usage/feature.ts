import { ToolrackError } from '@toolrack/contract'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { CallCounts } from '../statistics/call-counts.ts'
import { UsageStore } from './usage-store.ts'
import { UsageRanks } from './usage-ranks.ts'

type Needs = {
  readonly documents: Documents
  readonly callCounts: Pick<CallCounts, 'read'>
  readonly now: () => number
  readonly log: Log
}

/** Sorts the tools of a user by how often they are called, for lists with a budget. */
export const usage = {
  name: 'usage',
  create({ documents, callCounts, now, log }: Needs) {
    return {
      usageRanks: new UsageRanks({
        store: new UsageStore(documents),
        async uses(uid, fromMs, toMs) {
          const { tools, wasRead } = await callCounts.read(uid, fromMs, toMs)
          if (!wasRead) throw new ToolrackError('STORE_FAILED')
          return Array.from(tools, ([name, { calls, failures }]) => ({ name, calls, failures }))
        },
        now,
        log,
      }),
    }
  },
}
