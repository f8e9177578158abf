/** Runs what a deadline and a caller may end; `act` is to hold itself to the signal, and its clock ends with it. */
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

/** What is promised, or the reason of the signal as soon as it is given, whatever becomes of the promise. */
export function orAborted<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal?.reason as Error)
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave)
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', leave))
  })
}
