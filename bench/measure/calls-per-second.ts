/** The calls per second: all calls, divided by the time until the last call ended. Each client calls without a pause. */
export async function callsPerSecond(
  clients: readonly (() => Promise<unknown>)[],
  seconds: number,
): Promise<number> {
  let calls = 0
  const startedMs = performance.now()
  const endsMs = startedMs + seconds * 1_000
  await Promise.all(
    clients.map(async (call) => {
      while (performance.now() < endsMs) {
        await call()
        calls += 1
      }
    }),
  )
  return (calls / (performance.now() - startedMs)) * 1_000
}
