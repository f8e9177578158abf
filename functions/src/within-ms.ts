/** The result of `work`, or of `late` if the work takes more than `ms` milliseconds. The work itself is not stopped. */
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
