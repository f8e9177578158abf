/** The result of `work`. If `work` takes more than `ms` milliseconds, the result of `late` instead. `work` itself goes on. */
export async function withinMs<T, Late = never>(
  ms: number,
  work: Promise<T>,
  late = (): Late => {
    throw new Error(`no answer within ${ms} ms`)
  },
): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined
  const passed = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, ms, 'late')))
  try {
    const first = await Promise.race([work.then((result) => ({ result })), passed])
    return first === 'late' ? late() : first.result
  } finally {
    clearTimeout(timer)
  }
}
