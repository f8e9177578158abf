export const crashLoopCode: number
export function supervise(
  node: string,
  args: readonly string[],
  options: {
    readonly signal: AbortSignal
    readonly env?: NodeJS.ProcessEnv
    readonly pausesMs?: readonly number[]
  },
): Promise<number>
