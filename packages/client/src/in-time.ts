/**
 * Runs `act` with a signal. The signal is aborted when `outer` is aborted, or at the deadline with the error that `late` makes.
 */
export async function inTime<T>(
  deadlineMs: number,
  late: () => Error,
  act: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController()
  const end = (): void => controller.abort(outer?.reason)
  const clock = setTimeout(() => controller.abort(late()), deadlineMs)
  outer?.addEventListener('abort', end)
  if (outer?.aborted) end()
  try {
    return await orAborted(controller.signal, act(controller.signal))
  } finally {
    clearTimeout(clock)
    outer?.removeEventListener('abort', end)
  }
}

/** Waits for the promise. If the signal is aborted before, rejects at once with the reason of the signal. */
export function orAborted<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal?.reason as Error)
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave)
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', leave))
  })
}
