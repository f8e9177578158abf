import type { Rung } from './rungs.ts'

/** What a tool takes on one rung, wherever it stands in the list. */
export type RungCost = { readonly tokens: number; readonly bytes: number }

/** A tool that the ladder places. The tools of the group 0 come first. */
export type Climber = { readonly group: number; readonly costs: { readonly [On in Rung]: RungCost } }

/** A tool's way to its next rung, and what that adds to the list. */
type Step = {
  readonly tool: number
  readonly group: number
  readonly rung: Rung
  readonly added: RungCost
  readonly isLarge: boolean
}

/** Above so many tokens, a step waits until all others are done. Otherwise one huge definition would hide all tools after it. */
export const STEP_TOKENS_MAX = 2_000

/** The rungs from the lowest to the highest. */
const UPWARDS: readonly Rung[] = ['deferred', 'short', 'full']

const NOTHING: RungCost = { tokens: 0, bytes: 0 }

/**
 * Places tools, which are sorted by priority, on the highest rungs that the room allows. Undefined is a dropped tool.
 *
 * Tools climb in steps, and the order of the steps does not depend on the room. They are done in this order until one does not fit. So
 * more room never gives a tool a lower rung.
 */
export function climb(tools: readonly Climber[], room: RungCost): readonly (Rung | undefined)[] {
  const rungs: (Rung | undefined)[] = tools.map(() => undefined)
  let { tokens, bytes } = room
  for (const { tool, rung, added } of tools.flatMap(stepsOf).toSorted(inOrder)) {
    tokens -= added.tokens
    bytes -= added.bytes
    if (tokens < 0 || bytes < 0) break
    rungs[tool] = rung
  }
  return rungs
}

/** First the whole first group: all its tools to their lowest rung, then to the next, then to the highest. Then the next group. */
function inOrder(a: Step, b: Step): number {
  return (
    Number(a.isLarge) - Number(b.isLarge) ||
    a.group - b.group ||
    UPWARDS.indexOf(a.rung) - UPWARDS.indexOf(b.rung) ||
    a.tool - b.tool
  )
}

/** The steps of one tool. A rung that takes no less than a higher one is left out. */
function stepsOf({ group, costs }: Climber, tool: number): readonly Step[] {
  const rungs = UPWARDS.filter((rung, at) =>
    UPWARDS.slice(at + 1).every((higher) => costs[rung].tokens < costs[higher].tokens),
  )
  let from = NOTHING
  let isLarge = false
  return rungs.map((rung) => {
    const { tokens, bytes } = costs[rung]
    const added = { tokens: tokens - from.tokens, bytes: bytes - from.bytes }
    from = costs[rung]
    // A tool does not leave out a step.
    isLarge ||= added.tokens > STEP_TOKENS_MAX
    return { tool, group, rung, added, isLarge }
  })
}
