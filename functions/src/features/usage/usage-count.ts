import { parseObject } from '../../parse-object.ts'
import { isText, listOf, object, type Test } from '../../value-shape.ts'

/** How often a tool was run, and how often these runs failed. */
export type ToolUse = { readonly name: string; readonly calls: number; readonly failures: number }

/** How often a user's tools were run, as it was counted on a day. */
export type UsageCount = {
  /** Up to when calls are counted: ISO 8601, UTC. */
  readonly until: string
  /** The use before the day began: the whole day before, and half of what was counted earlier. */
  readonly before: readonly ToolUse[]
  /** `before` together with the calls of the day until `until`. */
  readonly tools: readonly ToolUse[]
}

/**
 * The most tools of one user that are counted. The tools that were called most stay. A list with a budget never has room for more
 * tools.
 */
const USED_TOOLS_MAX = 200

/**
 * Half of the uses. So a tool that was used on Friday still counts on Monday, and a tool that is no longer used is forgotten after
 * some days.
 */
export function halved(tools: readonly ToolUse[]): readonly ToolUse[] {
  return tools.map(({ name, calls, failures }) => ({
    name,
    calls: Math.floor(calls / 2),
    failures: Math.floor(failures / 2),
  }))
}

/** The sum of both uses, the tools that were called most first. */
export function added(some: readonly ToolUse[], more: readonly ToolUse[]): readonly ToolUse[] {
  const sums = new Map<string, { calls: number; failures: number }>()
  for (const { name, calls, failures } of [...some, ...more]) {
    const sum = sums.get(name)
    sums.set(name, { calls: (sum?.calls ?? 0) + calls, failures: (sum?.failures ?? 0) + failures })
  }
  return [...sums]
    .map(([name, use]) => ({ name, ...use }))
    .filter((use) => use.calls > 0)
    .toSorted(byUse)
    .slice(0, USED_TOOLS_MAX)
}

/**
 * Sorts the tools that were called most first. Of tools with equally many calls, those that failed least come first. Tools that
 * are still equal are sorted by name.
 */
export function byUse(a: ToolUse, b: ToolUse): number {
  return b.calls - a.calls || a.failures - b.failures || (a.name < b.name ? -1 : 1)
}

export function usageText(count: UsageCount): string {
  return JSON.stringify(count)
}

const isCount: Test<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const isUses = listOf(object<ToolUse>({ name: isText, calls: isCount, failures: isCount }))
const isUsage = object<Pick<UsageCount, 'until' | 'tools'>>({ until: isText, tools: isUses })

/** Parses the text of a `UsageCount`. Undefined for a text in the format of another version. */
export function readUsage(text: string): UsageCount | undefined {
  const value = parseObject(text)
  if (!isUsage(value)) return undefined
  const { until, tools } = value
  const { before } = value as Partial<UsageCount>
  // Earlier versions wrote no `before`.
  return { until, tools, before: isUses(before) ? before : tools }
}
