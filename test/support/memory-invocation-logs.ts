import { foundCall, LOG_BOUNDS, LOG_KEPT_MS, logBytes } from '../../functions/src/calls/invocation-logs.ts'
import type {
  CallPosition,
  InvocationLog,
  InvocationLogs,
} from '../../functions/src/calls/invocation-logs.ts'

type Kept = { readonly uid: string; readonly log: InvocationLog; readonly untilMs: number }

/** Keeps the logs of calls in memory. */
export function memoryInvocationLogs(now: () => number = Date.now, bounds = LOG_BOUNDS): InvocationLogs {
  let kept: readonly Kept[] = []
  const bytesOf = (logs: readonly Kept[]): number => logs.reduce((sum, { log }) => sum + logBytes(log), 0)
  const of = (uid: string): readonly Kept[] => kept.filter((each) => each.uid === uid)
  const dropOldest = ([oldest]: readonly Kept[]): void => void (kept = kept.filter((each) => each !== oldest))
  const ofMost = (): readonly Kept[] =>
    [...new Set(kept.map(({ uid }) => uid))].map(of).toSorted((a, b) => bytesOf(b) - bytesOf(a))[0] ?? []
  return {
    keep: async (uid, log) => {
      await Promise.resolve()
      kept = kept.filter(({ untilMs }) => untilMs > now())
      const bytes = logBytes(log)
      while (of(uid).length > 0 && bytesOf(of(uid)) + bytes > bounds.userBytes) dropOldest(of(uid))
      while (kept.length > 0 && bytesOf(kept) + bytes > bounds.allBytes) dropOldest(ofMost())
      kept = [...kept, { uid, log, untilMs: now() + LOG_KEPT_MS }]
    },
    find: async (uid, invocationId) => {
      await Promise.resolve()
      return of(uid).find(({ log, untilMs }) => log.invocationId === invocationId && untilMs > now())?.log
    },
    page: async (uid, { tool, outcome, workflow, since = '', before, limit }) => {
      await Promise.resolve()
      return of(uid)
        .filter(({ untilMs }) => untilMs > now())
        .map(({ log }) => foundCall(log))
        .filter((call) => tool === undefined || call.tool === tool)
        .filter((call) => outcome === undefined || call.outcome === outcome || call.code === outcome)
        .filter((call) => workflow === undefined || call.workflow === workflow)
        .filter((call) => call.at >= since && (!before || place(call) < place(before)))
        .toSorted((a, b) => (place(a) < place(b) ? 1 : -1))
        .slice(0, limit)
    },
    close: () => Promise.resolve(),
  }
}

function place({ at, invocationId }: CallPosition): string {
  return `${at}/${invocationId}`
}
