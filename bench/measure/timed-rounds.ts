import { setTimeout as pause } from 'node:timers/promises'
import { median, percentile } from './median.ts'
import type { Round, Sample } from './round.ts'

/** The pause between timed calls. By then the runner has finished its work after an answer. */
export const PAUSE_MS = 8

/** A function to call, and the number of calls in a round. */
export type Contender = {
  readonly name: string
  readonly calls: number
  /** The pause before each call. */
  readonly pauseMs?: number
  readonly call: () => Promise<unknown>
}

/** Times the calls of each contender in turn, round after round. */
export async function timedRounds(contenders: readonly Contender[], count: number): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < count) {
    const samples = new Map<string, Sample>()
    for (const contender of contenders) samples.set(contender.name, timesSample(await timesOf(contender)))
    rounds.push(Object.fromEntries(samples))
  }
  return rounds
}

/** The median and the p99 of times in microseconds. */
export function timesSample(timesUs: readonly number[]): Sample {
  return { p50Us: median(timesUs), p99Us: percentile(timesUs, 0.99) }
}

/** Times one call after the other. */
async function timesOf({ calls, pauseMs = PAUSE_MS, call }: Contender): Promise<readonly number[]> {
  const timesUs: number[] = []
  while (timesUs.length < calls) {
    await pause(pauseMs)
    const startedMs = performance.now()
    await call()
    timesUs.push((performance.now() - startedMs) * 1_000)
  }
  return timesUs
}
