import { ERROR_CODES, type ErrorCode } from '@toolrack/contract'
import type { CallFacts } from '../../calls/invocation-logs.ts'
import { addDurations, bucketOf, type Durations } from './durations.ts'

/** What is read of an ended call to count it. */
export type EndedCall = Pick<CallFacts, 'tool' | 'digest' | 'code' | 'replayed' | 'dryRun' | 'durationMs'>

/** What is counted of one tool. It is changed in place, because each call is counted. */
export type ToolCount = {
  /** The calls that have run the tool. */
  calls: number
  /** Those of `calls` that have failed. */
  failures: number
  /** The calls that have ended before the tool ran, for example because their arguments were not valid. */
  refused: number
  /** How often the tool was in a list that was sent. */
  lists: number
  /** The tokens of its definition in these lists together. */
  tokens: number
  /** When the last call arrived, in milliseconds since 1970. Null if the tool was only listed. */
  lastUsedMs: number | null
  /** The last call that failed or was refused. `atMs` is when it arrived. */
  lastError: { readonly code: ErrorCode; readonly atMs: number } | null
  /** How long the calls that have run the tool took, in the service and in the runner together. */
  durations: Durations
}

/** Counts by the name of the tool. */
export type ToolCounts = Map<string, ToolCount>

/**
 * The most tools of one user that are counted in an hour. With all their durations, they fit into one document of Firestore (1
 * MiB). The tools that were called most stay, then those whose definitions took most tokens.
 */
export const COUNTED_TOOLS_MAX = 500

/**
 * Above this number of tools, the counts for everybody take no tool from the own layer of a user. So no user crowds out the tools
 * that all users have.
 */
export const OWN_TOOLS_UNTIL = COUNTED_TOOLS_MAX / 2

/** Codes of failures that mean that the tool was run, and not refused, although the HTTP status is not 200. */
const RAN: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'WORKER_DIED'])

/** True if a call with this end has run its tool. `code` is null for a success. */
export function hasRun(code: ErrorCode | null): boolean {
  return code === null || ERROR_CODES[code].httpStatus === 200 || RAN.has(code)
}

/** True for a call that counts: neither the answer of an earlier call again, nor a question what would happen to a call. */
export function isCounted({ replayed, dryRun }: Pick<EndedCall, 'replayed' | 'dryRun'>): boolean {
  return !replayed && !dryRun
}

export function noCount(): ToolCount {
  return {
    calls: 0,
    failures: 0,
    refused: 0,
    lists: 0,
    tokens: 0,
    lastUsedMs: null,
    lastError: null,
    durations: {},
  }
}

/** The count of a tool, to add to it. Undefined for another tool if as many tools are counted as `max`. */
export function countOf(tools: ToolCounts, name: string, max = COUNTED_TOOLS_MAX): ToolCount | undefined {
  const known = tools.get(name)
  if (known || tools.size >= max) return known
  const count = noCount()
  tools.set(name, count)
  return count
}

/** Counts a call that arrived at `atMs`, in milliseconds since 1970. */
export function addCall(to: ToolCount, { code, durationMs }: EndedCall, atMs: number): void {
  to.lastUsedMs = later(to.lastUsedMs, atMs)
  // A call that waits for an approval is no error: it goes on when somebody has decided.
  if (code !== null && code !== 'APPROVAL_REQUIRED' && !(to.lastError && to.lastError.atMs > atMs))
    to.lastError = { code, atMs }
  if (!hasRun(code)) {
    to.refused += 1
    return
  }
  to.calls += 1
  if (code !== null) to.failures += 1
  const bucket = bucketOf(durationMs)
  to.durations[bucket] = (to.durations[bucket] ?? 0) + 1
}

/** Adds the counts of each tool in `from`. Keeps at most COUNTED_TOOLS_MAX tools. */
export function addCounts(to: ToolCounts, from: Iterable<readonly [string, ToolCount]>): void {
  for (const [name, count] of from) {
    const sum = to.get(name) ?? noCount()
    to.set(name, sum)
    sum.calls += count.calls
    sum.failures += count.failures
    sum.refused += count.refused
    sum.lists += count.lists
    sum.tokens += count.tokens
    if (count.lastUsedMs !== null) sum.lastUsedMs = later(sum.lastUsedMs, count.lastUsedMs)
    if (count.lastError && !(sum.lastError && sum.lastError.atMs > count.lastError.atMs))
      sum.lastError = count.lastError
    addDurations(sum.durations, count.durations)
  }
  if (to.size <= COUNTED_TOOLS_MAX) return
  for (const [name] of [...to].toSorted(byCalls).slice(COUNTED_TOOLS_MAX)) to.delete(name)
}

/**
 * Sorts the tools that were called most first, then those whose definitions took most tokens, then by name. Refused calls come
 * last, because they cost nothing: anybody could make many of them to crowd other tools out.
 */
export function byCalls(
  [a, one]: readonly [string, ToolCount],
  [b, other]: readonly [string, ToolCount],
): number {
  return (
    other.calls - one.calls || other.tokens - one.tokens || other.refused - one.refused || (a < b ? -1 : 1)
  )
}

function later(one: number | null, other: number): number {
  return one === null || other > one ? other : one
}
