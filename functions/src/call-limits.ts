import { isJsonObject, type JsonValue } from '@toolrack/contract'

/** The limits that an owner may have. A missing limit does not bound anything. */
export type CallLimits = {
  readonly callsPerMinute?: number | undefined
  readonly concurrent?: number | undefined
}

/** The most calls a minute that a limit can name. An instance makes fewer, so a greater number would bound nothing. */
export const CALLS_PER_MINUTE_MAX = 100_000
/** The most calls at once that a limit can name. A runner has at most 100 places, and many more calls would only wait. */
export const CONCURRENT_MAX = 1_000

/** Both, by the key that bounds them. */
export const CALL_LIMITS_MAX = { callsPerMinute: CALLS_PER_MINUTE_MAX, concurrent: CONCURRENT_MAX } as const

/** Reads limits as a body or a token has them. Returns the key with a fault, and what its value must be. */
export function readCallLimits(
  value: JsonValue,
): CallLimits | { readonly at: string; readonly fault: string } {
  if (!isJsonObject(value)) return { at: '', fault: 'it must be an object' }
  for (const [key, limit] of Object.entries(value)) {
    const max = Object.hasOwn(CALL_LIMITS_MAX, key)
      ? CALL_LIMITS_MAX[key as keyof typeof CALL_LIMITS_MAX]
      : undefined
    if (max === undefined)
      return { at: '', fault: 'it takes callsPerMinute and concurrent, and nothing else' }
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > max)
      return { at: `/${key}`, fault: `it must be a whole number from 1 to ${max.toLocaleString('en')}` }
  }
  return value
}
