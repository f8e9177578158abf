import { AsyncLocalStorage } from 'node:async_hooks'
import { promiseHooks } from 'node:v8'
import { processorMs, waitedMs } from './processor-time.ts'

/** A delay of the event loop above this is reported, in milliseconds. */
export const DELAY_MS = 200

/** Milliseconds between two checks of the clock, called a beat. If a check comes late, nothing else could run in the meantime. */
const BEAT_MS = 50

/**
 * Work that runs for at most this many milliseconds without a pause is a short stretch. From the time of a longer stretch, the
 * time in which other programs used the processors is subtracted.
 */
const SHORT_MS = 20

/** For whom work is done: a request, with its user as soon as the user is known, or a part of the service. */
export type WorkOwner = { readonly route?: string; readonly uid?: string; readonly part?: string }

/**
 * A delay of the event loop, and the owner of the work that ran longest during the delay. Without `route` and `part`, the owner
 * is not known.
 */
export type LoopDelay = WorkOwner & {
  /** How long nothing else could run. */
  readonly ms: number
  /** How long the owner's work ran. */
  readonly ranMs: number
  /**
   * How long this thread has used a processor during the delay. If it is much less than `ms`, the thread has waited, for example
   * for a disk.
   */
  readonly processorMs: number
}

/** Work whose time is measured. `ranMs` is how long it ran in the beat with the number `beat`. */
type Work = {
  route?: string
  uid?: string
  part?: string
  sinceMs: number
  beat: number
  ranMs: number
}

/** Knows to which work the code that runs now belongs. Node passes this on to the callbacks of promises, timers and events. */
const running = new AsyncLocalStorage<Work>()

/** Listeners for the whole process, because the process has one event loop. */
const listeners = new Set<(delay: LoopDelay) => void>()
const now = performance.now.bind(performance)
let stopHooks: (() => void) | undefined
let timer: NodeJS.Timeout | undefined
let dueMs = 0
let usedMs = 0
/**
 * What `waitedMs` returned at the beginning of the beat. `lastWaitedMs` is what it returned after the last stretch that was not
 * short.
 */
let beatWaitedMs = 0
let lastWaitedMs = 0
let isBeating = false
let hasWorked = false
let beat = 0
/** How long all known work together has run in this beat. `longest` is the work that has run longest. */
let allRanMs = 0
let longest: Work | undefined
/** The time at which the callback of a promise that runs now has begun. */
let continuedMs = 0

/**
 * Calls the listener after each delay above DELAY_MS. Returns a function that removes the listener. If there are no listeners,
 * nothing is measured.
 */
export function listenForDelays(listener: (delay: LoopDelay) => void): () => void {
  listeners.add(listener)
  stopHooks ??= promiseHooks.createHook({ before: beginContinuation, after: endContinuation }) as () => void
  timer ??= setTimeout(check, BEAT_MS).unref()
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    stopHooks?.()
    clearTimeout(timer)
    stopHooks = timer = undefined
    isBeating = false
  }
}

/**
 * Begins to measure the work of a request. The caller must call `endStretch` in the same turn of the event loop. Undefined if
 * nobody listens for delays.
 */
export function beginRequest(route: string): Work | undefined {
  if (listeners.size === 0) return undefined
  if (!isBeating) startBeat()
  const work: Work = { route, sinceMs: now(), beat: -1, ranMs: 0 }
  running.enterWith(work)
  return work
}

/** Sets the user of the request that runs now. */
export function requestIsOf(uid: string): void {
  const work = running.getStore()
  if (work) work.uid = uid
}

export function endStretch(work: Work | undefined): void {
  if (work) ran(work, now() - work.sinceMs)
}

/** Runs work that belongs to no request, such as that of a timer. It is measured as work of this part of the service. */
export function asPart<Result>(part: string, act: () => Result): Result {
  if (!isBeating) startBeat()
  const work: Work = { part, sinceMs: now(), beat: -1, ranMs: 0 }
  return running.run(work, () => {
    try {
      return act()
    } finally {
      endStretch(work)
    }
  })
}

/**
 * Returns a listener whose work is measured for the owner that runs now. Only for listeners of events that do much work, such as
 * parsing a text from outside. The callbacks of promises are measured anyway.
 */
export function marked<Event>(act: (event: Event) => void): (event: Event) => void {
  const work = running.getStore()
  if (!work) return act
  return (event) => {
    if (!isBeating) startBeat()
    const sinceMs = now()
    try {
      act(event)
    } finally {
      ran(work, now() - sinceMs)
    }
  }
}

function beginContinuation(): void {
  if (!isBeating) startBeat()
  continuedMs = now()
}

function endContinuation(): void {
  const work = running.getStore()
  if (work) ran(work, now() - continuedMs)
}

function ran(work: Work, tookMs: number): void {
  const ms = tookMs < SHORT_MS ? tookMs : ownTime(tookMs)
  hasWorked = true
  if (work.beat !== beat) {
    work.beat = beat
    work.ranMs = 0
  }
  work.ranMs += ms
  allRanMs += ms
  if (!longest || work.ranMs > longest.ranMs) longest = work
}

/** How long a stretch of work ran itself, without the time in which other programs used the processors. */
function ownTime(tookMs: number): number {
  const before = lastWaitedMs
  lastWaitedMs = waitedMs()
  return Math.max(0, tookMs - (lastWaitedMs - before))
}

function startBeat(): void {
  if (listeners.size === 0) return
  isBeating = true
  nextBeat(processorMs(), waitedMs())
}

function nextBeat(used: number, waited: number): void {
  usedMs = used
  beatWaitedMs = lastWaitedMs = waited
  beat += 1
  allRanMs = 0
  longest = undefined
  hasWorked = false
  dueMs = now() + BEAT_MS
  timer?.refresh()
}

/**
 * Checks the clock again after each beat as long as there is work. An idle service has no timer. Reports a delay above DELAY_MS.
 */
function check(): void {
  if (!isBeating) return
  const [used, waited] = [processorMs(), waitedMs()]
  const lateMs = now() - dueMs - (waited - beatWaitedMs)
  const ms = Math.max(lateMs, longest?.ranMs ?? 0)
  if (ms > DELAY_MS) report(ms, used - usedMs)
  isBeating = hasWorked
  if (isBeating) nextBeat(used, waited)
}

function report(ms: number, used: number): void {
  const isKnown = allRanMs > ms / 2
  // A machine that sleeps delays the loop too. Such a delay is nobody's work.
  if (!isKnown && used < DELAY_MS) return
  const { sinceMs: _, beat: __, ranMs, ...owner } = (isKnown && longest) || { sinceMs: 0, beat: 0, ranMs: 0 }
  const rounded = { ms: Math.round(ms), ranMs: Math.round(ranMs), processorMs: Math.round(used) }
  for (const listener of listeners) listener({ ...owner, ...rounded })
}
