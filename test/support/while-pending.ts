/** Repeats a request until some work has ended. Resolves to the number of answers. */
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
