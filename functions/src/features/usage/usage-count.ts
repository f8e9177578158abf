import { ERROR_CODES, type ErrorCode } from '@toolrack/contract'
import { parseObject } from '../../parse-object.ts'
import { isText, listOf, object, type Test } from '../../value-shape.ts'

/** What is read of an ended call to count the use of its tool. */
export type EndedCall = {
  readonly tool: string | null
  readonly code: ErrorCode | null
  readonly replayed: boolean
  readonly dryRun: boolean
}

/** How often a tool was run, and how often these runs failed. */
export type ToolUse = { readonly name: string; readonly calls: number; readonly failures: number }

/** How often a user's tools were run. `until` is the time up to which calls are counted: ISO 8601, UTC. */
export type UsageCount = { readonly until: string; readonly tools: readonly ToolUse[] }

/**
 * The most tools of one user that are counted. The tools that were called most stay. A list with a budget never has room for more
 * tools.
 */
const USED_TOOLS_MAX = 200

/** Codes of failures that mean that the tool was run, and not refused. */
const RAN: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'WORKER_DIED'])

/**
 * Counts the runs of tools in `calls`, and adds half of each earlier count. So a tool that was used on Friday still counts on
 * Monday, and a tool that is no longer used is forgotten after some days.
 */
export function countUsage(
  calls: readonly EndedCall[],
  before: UsageCount | undefined,
  until: string,
): UsageCount {
  const counted = new Map<string, { calls: number; failures: number }>()
  for (const { name, calls: runs, failures } of before?.tools ?? [])
    counted.set(name, { calls: Math.floor(runs / 2), failures: Math.floor(failures / 2) })
  for (const { tool, code, replayed, dryRun } of calls) {
    if (tool === null || replayed || dryRun || !hasRun(code)) continue
    const use = counted.get(tool) ?? { calls: 0, failures: 0 }
    counted.set(tool, { calls: use.calls + 1, failures: use.failures + Number(code !== null) })
  }
  const tools = [...counted]
    .map(([name, use]) => ({ name, ...use }))
    .filter((use) => use.calls > 0)
    .toSorted(byUse)
    .slice(0, USED_TOOLS_MAX)
  return { until, tools }
}

/**
 * Sorts the tools that were called most first. Of tools with equally many calls, those that failed least come first. Tools that
 * are still equal are sorted by name.
 */
export function byUse(a: ToolUse, b: ToolUse): number {
  return b.calls - a.calls || a.failures - b.failures || (a.name < b.name ? -1 : 1)
}

function hasRun(code: ErrorCode | null): boolean {
  return code === null || ERROR_CODES[code].httpStatus === 200 || RAN.has(code)
}

export function usageText(count: UsageCount): string {
  return JSON.stringify(count)
}

const isCount: Test<unknown> = (value): value is unknown => Number.isSafeInteger(value) && Number(value) >= 0
const isUsage = object({
  until: isText,
  tools: listOf(object({ name: isText, calls: isCount, failures: isCount })),
})

/** Parses the text of a `UsageCount`. Undefined for a text in the format of another version. */
export function readUsage(text: string): UsageCount | undefined {
  const value = parseObject(text)
  return isUsage(value) ? (value as UsageCount) : undefined
}
