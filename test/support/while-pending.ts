/** Asks one time after the other until some work has ended, and tells how many times it was answered meanwhile. */
export async function whilePending(
  work: Promise<unknown>,
  ask: (count: number) => Promise<void>,
): Promise<number> {
  const state = { isPending: true }
  function end(): void {
    state.isPending = false
  }
  work.then(end, end)
  let count = 0
  for (; state.isPending; count += 1) await ask(count)
  return count
}
