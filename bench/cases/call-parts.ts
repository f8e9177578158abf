import { setTimeout as pause } from 'node:timers/promises'
import { ARGUMENTS, callOf, reusedModule } from '../definitions/echo-tool.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured, NotRun } from '../measure/result.ts'
import type { Round, Sample } from '../measure/round.ts'
import { PAUSE_MS } from '../measure/timed-rounds.ts'
import { withBenchPython } from '../processes/bench-python.ts'
import { withEmbeddedServer } from '../processes/embedded-server.ts'
import { TEXT } from '../processes/mcp-peers.ts'
import { processorTimeOf } from '../processes/processor-time.ts'
import { isReused, serviceClient, uploadModule } from '../processes/service-client.ts'
import type { ServiceClient, ToolCall } from '../processes/service-client.ts'

const CALLS = 300
/** The calls whose processor time is measured. It is known in steps of 10 ms, which are 1 % of what so many calls take. */
const PROCESSOR_CALLS = 1_000
/** The calls before the first measured call: as many as until V8 has compiled what a call needs. */
const WARM_CALLS = 500

const MODULE = 'echo_json'
const SINGLE = 'single use'
const REUSED = 'reuse'
const BUILT_IN = 'a built-in tool'

/**
 * Measures where the time of a warm call through an embedded server goes. The answer of a call tells how long the service has waited for
 * the runner, how long the runner has waited for the child, and how much processor time the child has used.
 */
export function callParts(folder: string, { rounds: count }: Effort): Promise<Measured | NotRun> {
  return withBenchPython((python) =>
    withEmbeddedServer(folder, { python }, async (server) => {
      const client = await serviceClient(server)
      const reused = reusedModule(MODULE)
      await uploadModule(server, MODULE, callOf(MODULE).source)
      await uploadModule(server, reused.name, reused.source)
      const calls: Record<string, ToolCall> = {
        [SINGLE]: { name: `${MODULE}:echo`, arguments: ARGUMENTS },
        [BUILT_IN]: { name: 'ECHO', arguments: TEXT },
      }
      const reusing = { name: `${reused.name}:echo`, arguments: ARGUMENTS }
      if (await isReused(client, reusing)) calls[REUSED] = reusing
      else console.error('not run: reuse, because the runner starts a new process for each call')
      for (const call of Object.values(calls))
        for (let warm = 0; warm < WARM_CALLS; warm += 1) await client.invoke(call)
      const rounds: Round[] = []
      while (rounds.length < count) {
        const samples = new Map<string, Sample>()
        for (const [name, call] of Object.entries(calls))
          samples.set(name, {
            ...(await partsOf(client, call)),
            ...(await processorTimesOf(server.pid, client, call)),
          })
        rounds.push(Object.fromEntries(samples))
      }
      client.close()
      const comparisons = COMPARISONS.filter(({ ours }) => ours in calls)
      return { rounds, comparisons, sharesCores: true }
    }),
  )
}

/** The medians of the parts of a call, in microseconds. */
async function partsOf(client: ServiceClient, call: ToolCall): Promise<Sample> {
  const parts = { wholeUs: [], serviceUs: [], wireUs: [], handOffUs: [] } as Record<string, number[]>
  for (let calls = 0; calls < CALLS; calls += 1) {
    await pause(PAUSE_MS)
    const startedMs = performance.now()
    const { meta } = (await client.invoke(call)) as { meta: Meta }
    const wholeMs = performance.now() - startedMs
    const { wallMs } = meta.resourceUsage ?? { wallMs: 0 }
    parts['wholeUs']?.push(wholeMs * 1_000)
    parts['serviceUs']?.push((wholeMs - meta.executionTimeMs) * 1_000)
    parts['wireUs']?.push((meta.executionTimeMs - wallMs) * 1_000)
    parts['handOffUs']?.push(wallMs * 1_000)
  }
  return Object.fromEntries(Object.entries(parts).map(([name, timesUs]) => [name, median(timesUs)]))
}

type Meta = { readonly executionTimeMs: number; readonly resourceUsage: { readonly wallMs: number } | null }

/** The processor time that each process needs for a call, in microseconds, while calls follow each other. */
async function processorTimesOf(pid: number, client: ServiceClient, call: ToolCall): Promise<Sample> {
  const before = processorTimeOf(pid)
  for (let calls = 0; calls < PROCESSOR_CALLS; calls += 1) await client.invoke(call)
  const after = processorTimeOf(pid)
  const usPerCall = 1_000 / PROCESSOR_CALLS
  return {
    cpuServiceUs: (after.serviceMs - before.serviceMs) * usPerCall,
    cpuServerUs: (after.serverMs - before.serverMs) * usPerCall,
    cpuChildUs: (after.zygotesMs - before.zygotesMs) * usPerCall,
  }
}

const us = { unit: 'µs' } as const
const RUN = [
  { ...us, metric: 'wireUs', what: 'of that, the wire, and the server process until it takes a child' },
  { ...us, metric: 'handOffUs', what: 'of that, the hand-off to the child, and the handler' },
] as const
const RUN_CPU = [
  { ...us, metric: 'cpuServerUs', what: "processor time of the runner's server process" },
  { ...us, metric: 'cpuChildUs', what: 'processor time of the zygotes and the ended children' },
] as const
const COMPARISONS: readonly Comparison[] = [SINGLE, REUSED, BUILT_IN].flatMap((ours) => [
  { ...us, metric: 'wholeUs', what: 'whole call, median', ours },
  { ...us, metric: 'serviceUs', what: 'of that, the service and its HTTP', ours },
  ...(ours === BUILT_IN ? [] : RUN.map((part) => ({ ...part, ours }))),
  { ...us, metric: 'cpuServiceUs', what: 'processor time of the service', ours },
  ...(ours === BUILT_IN ? [] : RUN_CPU.map((part) => ({ ...part, ours }))),
])
