import { inFile, parsed, type ReadVariable } from '../../settings/variables.ts'
import { CALLS_PER_MINUTE_MAX, CONCURRENT_MAX, type CallLimits } from '../../call-limits.ts'

/** The variables that limit the calls of each user. 0 is no limit. */
export const LIMIT_SETTINGS = {
  TOOLRACK_USER_CALLS_PER_MINUTE: upTo(CALLS_PER_MINUTE_MAX),
  TOOLRACK_USER_CALLS_AT_ONCE: upTo(CONCURRENT_MAX),
}

/**
 * The limits of each user where several processes serve the users of a project, unless the operator sets others. A model makes a
 * call about once a second at most, and a dispatch runs eight at once. A program that has run wild is stopped within a second.
 * The embedded server has no limit by default: its users share one machine, and the queue of the runner is fair.
 */
export const SHARED_USUAL = { callsPerMinute: 60, concurrent: 10 } as const satisfies CallLimits

function upTo(most: number): ReadVariable<number | undefined> {
  const rule = `must be a whole number from 0 (no limit) to ${most.toLocaleString('en')}`
  return inFile(
    'whole number',
    parsed(
      (text) => (/^\d{1,9}$/.test(text.trim()) && Number(text) <= most ? Number(text) : undefined),
      rule,
    ),
  )
}

type Values = {
  readonly TOOLRACK_USER_CALLS_PER_MINUTE: number | undefined
  readonly TOOLRACK_USER_CALLS_AT_ONCE: number | undefined
}

/** The limits of a user for whom no admin has set others. */
export function usualLimits(values: Values, isShared: boolean): CallLimits {
  const usual: CallLimits = isShared ? SHARED_USUAL : {}
  const { TOOLRACK_USER_CALLS_PER_MINUTE: rate, TOOLRACK_USER_CALLS_AT_ONCE: atOnce } = values
  return {
    callsPerMinute: (rate ?? usual.callsPerMinute) || undefined,
    concurrent: (atOnce ?? usual.concurrent) || undefined,
  }
}
