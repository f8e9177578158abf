import type { ErrorCode } from '@toolrack/contract'
import { BUCKETS, bucketOf } from './durations.ts'
import { hasRun, isCounted, type EndedCall } from './tool-count.ts'

/** What a process has counted since its start. It has no names of users or tools, so it never grows. */
export class CallTotals {
  /** Ended calls by the code of their failure, or `OK`. Replays and dry runs are not among them. */
  readonly calls = new Map<ErrorCode | 'OK', number>()
  replays = 0
  dryRuns = 0
  /** The calls that have run a tool, by the bucket of their duration. */
  readonly durations = new Float64Array(BUCKETS)
  durationsMs = 0
  /** Lists that were sent, and lists that the client had already. */
  readonly lists = { sent: 0, same: 0 }

  addCall(call: EndedCall): void {
    if (call.dryRun) this.dryRuns += 1
    else if (call.replayed) this.replays += 1
    if (!isCounted(call)) return
    const code = call.code ?? 'OK'
    this.calls.set(code, (this.calls.get(code) ?? 0) + 1)
    if (!hasRun(call.code)) return
    const bucket = bucketOf(call.durationMs)
    this.durations[bucket] = (this.durations[bucket] ?? 0) + 1
    this.durationsMs += call.durationMs
  }

  addList(isSame: boolean): void {
    this.lists[isSame ? 'same' : 'sent'] += 1
  }
}
