import type { RunnerRequest } from './runner-request.ts'

/**
 * The additional milliseconds after the deadline in which a slow caller can read what the call has sent before the deadline. They
 * are the same for every call.
 */
const SLOW_READER_MS_MAX = 30_000

/**
 * Ends a request that is not answered in time. If the runner had to wait because the caller reads slowly, the request gets more
 * time once.
 */
export function answerClock(
  sent: { readonly destroy: (fault: Error) => unknown },
  { deadlineMs, events, idleMs }: Pick<RunnerRequest, 'deadlineMs' | 'events' | 'idleMs'>,
): AnswerClock {
  let isLonger = false
  let fault: Error | undefined
  let timer = setTimeout(end, deadlineMs)
  function end(): void {
    if (!events?.hasWaited || isLonger) return stop(`did not answer within ${deadlineMs} ms`)
    isLonger = true
    timer = setTimeout(end, SLOW_READER_MS_MAX)
  }
  function stop(how: string): void {
    fault = new Error(how)
    sent.destroy(fault)
  }
  return {
    get fault() {
      return fault
    },
    heard() {
      if (idleMs === undefined) return
      clearTimeout(timer)
      timer = setTimeout(() => stop(`sent nothing for ${idleMs} ms`), idleMs)
    },
    stop: () => clearTimeout(timer),
  }
}

export type AnswerClock = {
  /** Why the clock has ended the request. The stream of an answer that has begun gives another error then. */
  readonly fault: Error | undefined
  /** To be called for each part of an answer with events. */
  heard(): void
  stop(): void
}
