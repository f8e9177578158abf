import type { ErrorCode } from '@toolrack/contract'
import type { CallOutcome } from '../../calls/call.ts'

/** What the end of a call says about its tool. `neither`: the call does not show whether the tool works. */
export type Verdict = 'worked' | 'failed' | 'neither'

/** Failures by which the tool itself, or the process that runs it, is at fault. */
const FAULTS: ReadonlySet<ErrorCode> = new Set([
  'MODULE_BROKEN',
  'TOOL_CRASHED',
  'RESULT_INVALID',
  'MEMORY_LIMIT',
  'CPU_LIMIT',
  'DISK_LIMIT',
  'DEADLINE_EXCEEDED',
  'WORKER_DIED',
])

/**
 * The kinds of exceptions that count: another program was not reached, or did not answer in time. Other exceptions do not count.
 * Most tools raise one for a bad input, and nobody can tell such an exception from a bug.
 */
const FAULTY_KINDS: ReadonlySet<Ended['failureKind']> = new Set(['network', 'timeout'])

/**
 * DEADLINE_EXCEEDED counts only if the tool has run for so much of the deadline of its definition. A call has less time if it
 * has waited in a queue, or takes the place of another one shortly before the end of all attempts. Short waits do not matter.
 */
const DEADLINE_PERCENT = 90

type Ended = Pick<CallOutcome, 'result' | 'usage' | 'failureKind'>

/**
 * What a call says about its tool. A failure without usage says nothing: the runner has run nothing, or was lost itself, and
 * then all tools fail. `deadlineMs` is the deadline of the tool, in milliseconds, for a call that has not waited.
 */
export function verdictOf({ result, usage, failureKind }: Ended, deadlineMs: number): Verdict {
  if (result.resultType === 'success') return 'worked'
  if (usage === null) return 'neither'
  if (result.code === 'DEADLINE_EXCEEDED' && usage.wallMs * 100 < deadlineMs * DEADLINE_PERCENT)
    return 'neither'
  const isFault = FAULTS.has(result.code) || (result.code === 'TOOL_RAISED' && FAULTY_KINDS.has(failureKind))
  return isFault ? 'failed' : 'neither'
}
