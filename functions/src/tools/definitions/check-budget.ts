import { ToolrackError } from '@toolrack/contract'

/**
 * Milliseconds that the checks of one request may take together. One of 200 schemas of 2 s each would take seven minutes,
 * and a function's request is ended after 60 s. The last check may begin just before the end and then wait 34 s for others.
 */
export const CHECKS_MS_MAX = 20_000

/** Called before each check with how many are done, of how many. Throws SCHEMA_REJECTED when the time is over. */
export type CheckBudget = (checked: number, all: number) => void

/** The budget of one request, from now on. `now` is in milliseconds, from any beginning. */
export function checkBudget(now: () => number): CheckBudget {
  const end = now() + CHECKS_MS_MAX
  return (checked, all) => {
    if (now() < end) return
    const spent = `${checked} of ${all} definitions were checked in ${CHECKS_MS_MAX / 1_000} s, which is all that one request may take`
    throw new ToolrackError(
      'SCHEMA_REJECTED',
      `${spent}. Nothing was written. Send fewer definitions at a time, or simplify their schemas.`,
    )
  }
}
