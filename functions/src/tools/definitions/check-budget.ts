import { ToolrackError } from '@toolrack/contract'
import type { RequestCompiler } from '../schemas/schema-checker.ts'
import { notAsked } from '../schemas/worker-pool.ts'

/**
 * Milliseconds that the checks of one request may take together: one of 200 schemas of 2 s each would take seven minutes, and a
 * function's request is ended after 60 s. What they wait for others is not counted, so nobody's request is refused for others.
 */
export const CHECKS_MS_MAX = 20_000

/**
 * Asked before each check of a request with how many are done, of how many. Throws SCHEMA_REJECTED when they have taken all
 * the time that they may take, and SERVICE_BUSY, which nobody reads, when the caller has gone.
 */
export function continueChecks({ spentMs, caller }: RequestCompiler, checked: number, all: number): void {
  if (caller.signal?.aborted) throw notAsked('gone')
  if (spentMs < CHECKS_MS_MAX) return
  const spent = `${checked} of ${all} definitions were checked in ${CHECKS_MS_MAX / 1_000} s, which is all that one request may take`
  throw new ToolrackError(
    'SCHEMA_REJECTED',
    `${spent}. Nothing was written. Send fewer definitions at a time, or simplify their schemas.`,
  )
}
