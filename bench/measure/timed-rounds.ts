import { setTimeout as pause } from 'node:timers/promises'
import { median, percentile } from './median.ts'
import type { Round, Sample } from './round.ts'

/** The pause between timed calls. In this time the runner finishes its work after an answer. */
export const PAUSE_MS = 8

/** A function to time, and the number of its calls in a round. */
export type Contender = {
  readonly name: string
  readonly calls: number
  /** The pause before each call. With 0, a call follows as soon as the call before it was answered. */
  readonly pauseMs?: number
  readonly call: () => Promise<unknown>
}

/** Times calls. In a round, each contender makes all its calls before the next contender starts. */
export async function timedRounds(contenders: readonly Contender[], count: number): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < count) {
    const samples = new Map<string, Sample>()
    for (const contender of contenders) samples.set(contender.name, timesSample(await timesOf(contender)))
    rounds.push(Object.fromEntries(samples))
  }
  return rounds
}

/**
 * Times calls in turns: each contender makes `atATime` calls, then each makes its next calls. So other work of the machine changes the
 * times of all contenders alike, and small differences can be measured.
 */
export async function timedInTurns(
  contenders: readonly Contender[],
  count: number,
  atATime = 1,
): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < count) {
    const times = new Map(contenders.map(({ name }) => [name, [] as number[]]))
    for (let made = 0; contenders.some(({ calls }) => made < calls); made += atATime)
      for (const { name, calls, pauseMs, call } of contenders)
        for (let next = made; next < Math.min(calls, made + atATime); next += 1)
          times.get(name)?.push(await timeOf(call, pauseMs))
    rounds.push(Object.fromEntries([...times].map(([name, timesUs]) => [name, timesSample(timesUs)])))
  }
  return rounds
}

/** The median and the 99th percentile of these times. */
export function timesSample(timesUs: readonly number[]): Sample {
  return { p50Us: median(timesUs), p99Us: percentile(timesUs, 0.99) }
}

/** The times of the calls, made one after the other. */
async function timesOf({ calls, pauseMs, call }: Contender): Promise<readonly number[]> {
  const timesUs: number[] = []
  while (timesUs.length < calls) timesUs.push(await timeOf(call, pauseMs))
  return timesUs
}

/** The microseconds that a call takes after a pause. */
async function timeOf(call: Contender['call'], pauseMs = PAUSE_MS): Promise<number> {
  if (pauseMs > 0) await pause(pauseMs)
  const startedMs = performance.now()
  await call()
  return (performance.now() - startedMs) * 1_000
}
