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

/** A step with more tokens waits until all others are done. Otherwise one huge definition would hide all tools after it. */
export const STEP_TOKENS_MAX = 2_000

/** The rungs from the lowest to the highest. */
const UPWARDS: readonly Rung[] = ['deferred', 'short', 'full']
/** The rungs of a list for a model that cannot use tools by name only. */
export const WITHOUT_DEFERRED: readonly Rung[] = ['short', 'full']

/** The turn of the first large step, after the turns of all groups. */
const LARGE_TURN = 1_000

const NOTHING: RungCost = { tokens: 0, bytes: 0 }

/** Where a tool stands. `needs` has the smallest budget with which it reaches each rung that is ever used. */
export type Standing = { readonly rung: Rung | undefined; readonly needs: { readonly [On in Rung]?: number } }

/**
 * Places tools, which are sorted by priority, on the highest rungs that the room allows. `open` is the number of tokens of a list
 * without them.
 *
 * Tools climb in steps, and the order of the steps does not depend on the room. They are done in this order until one does not fit.
 * So more room never gives a tool a lower rung.
 */
export function climb(
  tools: readonly Climber[],
  room: RungCost,
  open: number,
  rungs: readonly Rung[] = UPWARDS,
): readonly Standing[] {
  const standings = tools.map(() => ({ rung: undefined as Rung | undefined, needs: {} as Standing['needs'] }))
  let used: RungCost = { tokens: open, bytes: 0 }
  let fits = true
  for (const { tool, rung, added } of inOrder(tools.flatMap((one, tool) => stepsOf(one, tool, rungs)))) {
    used = { tokens: used.tokens + added.tokens, bytes: used.bytes + added.bytes }
    fits &&= used.tokens <= room.tokens && used.bytes <= room.bytes
    const standing = standings[tool]
    if (!standing) continue
    standing.needs = { ...standing.needs, [rung]: used.tokens }
    if (fits) standing.rung = rung
  }
  return standings
}

/** First the whole first group: all its tools to their lowest rung, then to the next, then to the highest. Then the next group. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  const turns = new Map<number, Step[]>()
  for (const step of steps) {
    const turn = (step.isLarge ? LARGE_TURN : 0) + step.group * UPWARDS.length + UPWARDS.indexOf(step.rung)
    const same = turns.get(turn)
    if (same) same.push(step)
    else turns.set(turn, [step])
  }
  return [...turns].toSorted(([a], [b]) => a - b).flatMap(([, each]) => each)
}

/** The steps of one tool. A rung that takes no less than a higher one is left out. */
function stepsOf({ group, costs }: Climber, tool: number, allowed: readonly Rung[]): readonly Step[] {
  const rungs = allowed.filter((rung, at) =>
    allowed.slice(at + 1).every((higher) => costs[rung].tokens < costs[higher].tokens),
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
