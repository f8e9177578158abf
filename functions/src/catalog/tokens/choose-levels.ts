import type { DetailLevel } from './detail-levels.ts'

/** What a tool takes on one level, wherever it stands in the list. */
export type LevelCost = { readonly tokens: number; readonly bytes: number }

/** A tool that the ladder places. The tools of the group 0 come first. */
export type RankedTool = {
  readonly group: number
  readonly costs: { readonly [On in DetailLevel]: LevelCost }
}

/** A tool's way to its next level, and what that adds to the list. */
type Step = {
  readonly tool: number
  readonly group: number
  readonly level: DetailLevel
  readonly added: LevelCost
  readonly isLarge: boolean
}

/** A step with more tokens waits until all others are done. Otherwise one huge definition would hide all tools after it. */
export const STEP_TOKENS_MAX = 2_000

/** The levels from the lowest to the highest. */
const UPWARDS: readonly DetailLevel[] = ['deferred', 'short', 'full']
/** The levels of a list for a model that cannot use tools by name only. */
export const WITHOUT_DEFERRED: readonly DetailLevel[] = ['short', 'full']

/** The turn of the first large step, after the turns of all groups. */
const LARGE_TURN = 1_000

const NOTHING: LevelCost = { tokens: 0, bytes: 0 }

/** Where a tool stands. `needs` has the smallest budget with which it reaches each level that is ever used. */
export type LevelChoice = {
  readonly level: DetailLevel | undefined
  readonly needs: { readonly [On in DetailLevel]?: number }
}

/**
 * Places tools, which are sorted by priority, on the highest levels that the room allows. `open` is the number of tokens of a list
 * without them.
 *
 * Tools climb in steps, and the order of the steps does not depend on the room. They are done in this order until one does not fit.
 * So more room never gives a tool a lower level.
 */
export function chooseLevels(
  tools: readonly RankedTool[],
  room: LevelCost,
  open: number,
  levels: readonly DetailLevel[] = UPWARDS,
): readonly LevelChoice[] {
  const choices = tools.map(() => ({
    level: undefined as DetailLevel | undefined,
    needs: {} as LevelChoice['needs'],
  }))
  let used: LevelCost = { tokens: open, bytes: 0 }
  let fits = true
  for (const { tool, level, added } of inOrder(tools.flatMap((one, tool) => stepsOf(one, tool, levels)))) {
    used = { tokens: used.tokens + added.tokens, bytes: used.bytes + added.bytes }
    fits &&= used.tokens <= room.tokens && used.bytes <= room.bytes
    const choice = choices[tool]
    if (!choice) continue
    choice.needs = { ...choice.needs, [level]: used.tokens }
    if (fits) choice.level = level
  }
  return choices
}

/** First the whole first group: all its tools to their lowest level, then to the next, then to the highest. Then the next group. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  const turns = new Map<number, Step[]>()
  for (const step of steps) {
    const turn = (step.isLarge ? LARGE_TURN : 0) + step.group * UPWARDS.length + UPWARDS.indexOf(step.level)
    const same = turns.get(turn)
    if (same) same.push(step)
    else turns.set(turn, [step])
  }
  return [...turns].toSorted(([a], [b]) => a - b).flatMap(([, each]) => each)
}

/** The steps of one tool. A level that takes no less than a higher one is left out. */
function stepsOf(
  { group, costs }: RankedTool,
  tool: number,
  allowed: readonly DetailLevel[],
): readonly Step[] {
  const levels = allowed.filter((level, at) =>
    allowed.slice(at + 1).every((higher) => costs[level].tokens < costs[higher].tokens),
  )
  let from = NOTHING
  let isLarge = false
  return levels.map((level) => {
    const { tokens, bytes } = costs[level]
    const added = { tokens: tokens - from.tokens, bytes: bytes - from.bytes }
    from = costs[level]
    // A tool does not leave out a step.
    isLarge ||= added.tokens > STEP_TOKENS_MAX
    return { tool, group, level, added, isLarge }
  })
}
