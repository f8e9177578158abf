import { setImmediate } from 'node:timers/promises'

/** How many turns of the event loop other work gets until the work has ended. */
export async function turnsDuring<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly turns: number }> {
  const state = { turns: 0, isOver: false }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) state.turns += 1
  }
  const counted = others()
  const result = await work().finally(() => (state.isOver = true))
  await counted
  return { result, turns: state.turns }
}
