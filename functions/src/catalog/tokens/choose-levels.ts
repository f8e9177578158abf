import type { DetailLevel } from './detail-levels.ts'

/** The tokens and bytes that a tool takes at one detail level, wherever it is in the list. */
export type LevelCost = { readonly tokens: number; readonly bytes: number }

/** A tool whose detail level is chosen. Tools of group 0 have the highest priority. */
export type RankedTool = {
  readonly group: number
  readonly costs: { readonly [On in DetailLevel]: LevelCost }
}

/** A step that raises a tool to its next detail level, and the cost that it adds to the list. */
type Step = {
  readonly tool: number
  readonly group: number
  readonly level: DetailLevel
  readonly added: LevelCost
  readonly isLarge: boolean
}

/** A step that adds more tokens comes after all other steps. Otherwise one huge definition would hide all tools after it. */
export const STEP_TOKENS_MAX = 2_000

/** The detail levels from the lowest to the highest. */
const UPWARDS: readonly DetailLevel[] = ['deferred', 'short', 'full']
/** The detail levels for a model that cannot use tools of which it knows only the name. */
export const WITHOUT_DEFERRED: readonly DetailLevel[] = ['short', 'full']

/** The first turn of the large steps. It comes after the turns of all groups. */
const LARGE_TURN = 1_000

const NOTHING: LevelCost = { tokens: 0, bytes: 0 }

/**
 * The detail level of a tool, or undefined if the tool is dropped. `needs` has, for each level, the smallest budget with which
 * the tool reaches the level. Levels that are never used are missing in `needs`.
 */
export type LevelChoice = {
  readonly level: DetailLevel | undefined
  readonly needs: { readonly [On in DetailLevel]?: number }
}

/**
 * Chooses the detail level of each tool, as high as the room allows. The tools are sorted by priority. `open` is the number of
 * tokens of the list without any tool.
 *
 * Each step raises one tool to its next level. The steps are done in a fixed order until one does not fit into the room. The
 * order does not depend on the room, so more room never gives a tool a lower level.
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

/**
 * Orders the steps. First all tools of the first group get their lowest level, then the next level, then the highest. After that
 * the next group follows.
 */
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

/** The steps of one tool. A level is left out if a higher level costs as many tokens or fewer. */
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
    // After a large step, all further steps of this tool come late too, because its steps must be done in order.
    isLarge ||= added.tokens > STEP_TOKENS_MAX
    return { tool, group, level, added, isLarge }
  })
}
