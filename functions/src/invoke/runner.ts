/** What runs tools in isolation, as the service sees it. */
export type Runner = {
  /** How it is right now. Never rejects, and never takes longer than a caller of `/health` would wait. */
  readonly health: () => Promise<RunnerHealth>
  /** Ends what was started for it. */
  readonly close: () => Promise<void>
}

export type RunnerHealth = RunnerReady | RunnerAway

/** The levels of isolation, as measured by the runner: nothing, then each what the one before holds and more. */
export const ISOLATION_LEVELS = ['L0', 'L1', 'L2', 'L3', 'L4'] as const
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number]

/** It takes calls; what it says of itself goes on to the reader as it is. */
export type RunnerReady = {
  readonly status: 'ready'
  readonly isolation: IsolationLevel
  readonly [fact: string]: unknown
}

/** It takes none: not yet, not at all, or not any more. The reason is a sentence for the operator. */
export type RunnerAway = {
  readonly status: 'starting' | 'absent' | 'unreachable'
  readonly reason: string
}

/** Where there is no runner. */
export function absentRunner(reason: string): Runner {
  return {
    health: () => Promise.resolve({ status: 'absent', reason }),
    close: () => Promise.resolve(),
  }
}
