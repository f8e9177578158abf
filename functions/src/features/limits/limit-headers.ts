import type { ServerResponse } from 'node:http'
import type { LimitState } from '../../calls/call.ts'

/**
 * Adds the limits of a call to its answer, in the headers `RateLimit` and `RateLimit-Policy` of
 * draft-ietf-httpapi-ratelimit-headers-10. Both are lists of structured fields (RFC 9651). If the answer is to several calls, it
 * has the state of each limit with the fewest calls left.
 */
export function limitsIn(res: ServerResponse): (states: readonly LimitState[]) => void {
  const fewest = new Map<string, LimitState>()
  return (states) => {
    // The headers of a stream of events may be on their way.
    if (res.headersSent || states.length === 0) return
    for (const state of states) {
      const known = fewest.get(state.name)
      if (!known || state.left <= known.left) fewest.set(state.name, state)
    }
    const all = [...fewest.values()]
    res.setHeader('RateLimit', all.map(stateText).join(', '))
    res.setHeader('RateLimit-Policy', all.map(policyText).join(', '))
  }
}

/** `r`: the calls that are left. `t`: the seconds until one more is left. */
function stateText({ name, left, nextSeconds }: LimitState): string {
  return `"${name}";r=${left}${nextSeconds === undefined ? '' : `;t=${nextSeconds}`}`
}

/** `q`: the calls of the limit. `w`: its window in seconds. `qu`: what it counts, if these are not calls in a window. */
function policyText({ name, quota, windowSeconds }: LimitState): string {
  return `"${name}";q=${quota}${windowSeconds === undefined ? ';qu="concurrent-requests"' : `;w=${windowSeconds}`}`
}

export const LIMIT_HEADERS = {
  RateLimit:
    'What is left of each limit that the call counts under: `"user";r=59;t=1, "user-at-once";r=9`. `r` is how many calls, `t` after how many seconds there is one more. The names are `user`, `tool`, `workflow` and `token`, with `-at-once` for calls that run at the same time.',
  'RateLimit-Policy': 'These limits: `"user";q=60;w=60, "user-at-once";q=10;qu="concurrent-requests"`.',
}
