import { setTimeout as pause } from 'node:timers/promises'
import type { Generator } from '../generator/generator.ts'
import type { ServerProcess } from '../processes/server-process.ts'
import type { Measured } from './result.ts'
import { medians, valueOf } from './round.ts'
import type { Round, Sample } from './round.ts'

/** A server and the requests to it. */
export type Contender = {
  readonly name: string
  readonly server: ServerProcess
  /** Called before each load. Returns the paths that are requested one after the other. */
  readonly paths: () => readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** The body of each request, which is then a POST. Without a body the requests are GETs. */
  readonly body?: string
}

export type Effort = {
  readonly generator: Generator
  readonly rounds: number
  readonly seconds: number
}

/** The number of connections to measure throughput (`MANY`) and latency (`ONE`). */
const MANY = 32
const ONE = 1
const WARM_UP_SECONDS = 1
/** A server is idle if it used at most `used` of processor time in `observed`. The wait for this ends after `atMost`. */
const IDLE_MS = { used: 10, observed: 100, atMost: 10_000 }

/** Measures contenders in rounds. In a round, it loads one contender after the other: first all for throughput, then all for latency. */
export async function loadRounds(contenders: readonly Contender[], effort: Effort): Promise<Round[]> {
  for (const contender of contenders) await load(contender, MANY, { ...effort, seconds: WARM_UP_SECONDS })
  const rounds: Round[] = []
  while (rounds.length < effort.rounds) {
    const samples = new Map<string, Sample>()
    for (const contender of contenders) {
      const { p50Us, p99Us, ...loaded } = await load(contender, MANY, effort)
      if (loaded.requestsPerSecond === 0)
        throw new Error(`${contender.name} answered nothing in ${effort.seconds} seconds`)
      samples.set(contender.name, { ...loaded, loadedP50Us: p50Us, loadedP99Us: p99Us })
    }
    for (const contender of contenders) {
      const { p50Us, p99Us } = await load(contender, ONE, effort)
      samples.set(contender.name, { ...samples.get(contender.name), p50Us, p99Us })
    }
    rounds.push(Object.fromEntries(samples))
  }
  return rounds
}

/**
 * Loads a server once. Returns the figures of the generator, and these:
 * - `busy`: the fraction of its core's time that the server used. If it is well below 1, the server was not the limit.
 * - `generatorBusy`: the fraction of its core's time that the generator used.
 * - `cpuUs`: the processor time of one request. If the machine has other work, it is more reliable than requests per second.
 */
async function load(contender: Contender, connections: number, { generator, seconds }: Effort) {
  const { server, paths, headers, body } = contender
  const asked = {
    url: server.url,
    paths: paths(),
    headers,
    connections,
    seconds,
    ...(body !== undefined && { body }),
  }
  const before = await server.usage()
  const startedMs = performance.now()
  const { cpuMs: generatorMs, ...result } = await generator.run(asked)
  const elapsedMs = performance.now() - startedMs
  const after = await server.usage()
  const cpuMs = after.cpuMs - before.cpuMs
  await idle(server)
  return {
    ...result,
    busy: cpuMs / elapsedMs,
    generatorBusy: generatorMs / elapsedMs,
    cpuUs: (cpuMs * 1_000) / (result.requestsPerSecond * seconds),
  }
}

/** Resolves when a server has finished its work after the load, so that the next server has the machine for itself. */
async function idle(server: ServerProcess): Promise<void> {
  const endsMs = performance.now() + IDLE_MS.atMost
  for (let usedMs = Infinity; usedMs > IDLE_MS.used && performance.now() < endsMs;) {
    const before = await server.usage()
    await pause(IDLE_MS.observed)
    usedMs = (await server.usage()).cpuMs - before.cpuMs
  }
}

/** The requests per second of a generator on handlers that do nothing. No server can be measured above this number. */
export function reachOf(
  generator: Generator,
  rounds: readonly Round[],
  emptyHandlers: readonly string[],
): NonNullable<Measured['generator']> {
  const reached = medians(rounds)
  return {
    name: generator.name,
    emptyHandler: Object.fromEntries(
      emptyHandlers.map((name) => [name, valueOf(reached, name, 'requestsPerSecond')]),
    ),
  }
}
