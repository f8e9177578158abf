import type { Runner, RunnerHealth } from '../../catalog/definitions/runner.ts'
import type { QueueState } from '../../fair-queue.ts'
import type { LoopWatch } from '../../loop-watch.ts'
import type { CallCounts } from '../statistics/call-counts.ts'
import { VERSION } from '../../version.ts'
import { callMetrics } from './call-metrics.ts'
import { single, type Metric, type Sample } from './metrics-text.ts'

/** Numbers by what they count, such as `{ ofUsers: 2 }`. The names are those of the code, so there are few. */
export type Counts = Readonly<Record<string, number>>

/** Features that a service may be without, and whose numbers `/metrics` and `/health` show. */
export type OptionalCounts = {
  readonly circuits?: { readonly counts: () => Counts } | undefined
  readonly callLimiter?: { readonly state: Counts } | undefined
  readonly artifacts?: { readonly counts: Counts } | undefined
}

export type MetricsParts = OptionalCounts & {
  readonly callCounts: Pick<CallCounts, 'totals' | 'state'>
  readonly runner: Pick<Runner, 'health'>
  readonly compilers: { readonly state: QueueState }
  readonly argumentValidator: { readonly state: QueueState }
  readonly loopWatch: Pick<LoopWatch, 'seen'>
}

/** What a request shows of the queues of requests. */
export type RequestQueues = {
  readonly bodies: { readonly state: QueueState & { readonly bytes: number } }
  readonly unread: { readonly state: { readonly bytes: number } }
}

/** All metrics of this process, without names of users and tools. */
export async function serviceMetrics(
  parts: MetricsParts,
  requests: RequestQueues,
): Promise<readonly Metric[]> {
  const { callCounts, runner, compilers, argumentValidator, loopWatch } = parts
  const known = await runner.health()
  const queues = {
    schemas: compilers.state,
    arguments: argumentValidator.state,
    bodies: requests.bodies.state,
    ...runnerQueues(known),
  }
  const { waiting, downSinceMs } = callCounts.state
  return [
    {
      ...single('toolrack_info', 'gauge', 'The version of the service.', 1),
      samples: [[{ version: VERSION }, 1]],
    },
    ...callMetrics(callCounts.totals),
    ofEach('toolrack_queue_running', 'Pieces of work that run now, by their queue.', queues, 'running'),
    ofEach('toolrack_queue_waiting', 'Pieces of work that wait now, by their queue.', queues, 'waiting'),
    single(
      'toolrack_runner_ready',
      'gauge',
      '1 if the runner is ready, else 0.',
      Number(known.status === 'ready'),
    ),
    countsOf('toolrack_circuits_open', 'Open circuits of tools.', parts.circuits?.counts()),
    countsOf('toolrack_limits', 'Numbers of the limits of calls.', parts.callLimiter?.state),
    countsOf('toolrack_artifacts', 'Numbers of the kept artifacts.', parts.artifacts?.counts),
    single(
      'toolrack_body_bytes',
      'gauge',
      'Bytes of the large bodies that are in use.',
      requests.bodies.state.bytes,
    ),
    single(
      'toolrack_unread_bytes',
      'gauge',
      'Bytes of answers that clients have not read yet.',
      requests.unread.state.bytes,
    ),
    single(
      'toolrack_counts_waiting',
      'gauge',
      'Parts of the statistics that are not in the store yet.',
      waiting,
    ),
    single(
      'toolrack_counts_failing',
      'gauge',
      '1 if statistics cannot be written, else 0.',
      Number(downSinceMs !== null),
    ),
    ...loopMetrics(loopWatch),
    ...processMetrics(),
  ]
}

/** The queues in the facts of a runner that is ready. A runner of another version may report other facts. */
function runnerQueues(health: RunnerHealth): Readonly<Record<string, Partial<QueueState>>> {
  if (health.status !== 'ready') return {}
  const { calls, checks } = health
  return { runnerCalls: queueIn(calls), runnerChecks: queueIn(checks) }
}

function queueIn(value: unknown): Partial<QueueState> {
  const { running, waiting } = (value ?? {}) as Readonly<Record<string, unknown>>
  return {
    ...(typeof running === 'number' && { running }),
    ...(typeof waiting === 'number' && { waiting }),
  }
}

function ofEach(
  name: string,
  help: string,
  queues: Readonly<Record<string, Partial<QueueState>>>,
  key: 'running' | 'waiting',
): Metric {
  const samples = Object.entries(queues).flatMap(([queue, { [key]: value }]): Sample[] =>
    value === undefined ? [] : [[{ queue }, value]],
  )
  return { name, type: 'gauge', help, samples }
}

/** Numbers of a feature. Some only grow and some do not, so they have no type. */
function countsOf(name: string, help: string, counts: Counts = {}): Metric {
  return {
    name,
    type: 'untyped',
    help,
    samples: Object.entries(counts).map(([what, count]): Sample => [{ what }, count]),
  }
}

function loopMetrics({ seen }: Pick<LoopWatch, 'seen'>): readonly Metric[] {
  const { active } = performance.eventLoopUtilization()
  return [
    single(
      'toolrack_event_loop_delays_total',
      'counter',
      'Delays of the event loop above 200 ms.',
      seen.count,
    ),
    single(
      'toolrack_event_loop_delay_seconds_max',
      'gauge',
      'The longest of these delays.',
      seen.longestMs / 1_000,
    ),
    single(
      'toolrack_event_loop_busy_seconds_total',
      'counter',
      'How long the event loop was busy.',
      active / 1_000,
    ),
  ]
}

function processMetrics(): readonly Metric[] {
  const { user, system } = process.cpuUsage()
  const startedMs = performance.timeOrigin
  return [
    single(
      'process_cpu_seconds_total',
      'counter',
      'Processor time of this process.',
      (user + system) / 1_000_000,
    ),
    single('process_resident_memory_bytes', 'gauge', 'Memory of this process.', process.memoryUsage.rss()),
    single(
      'process_start_time_seconds',
      'gauge',
      'When this process started, since 1970.',
      startedMs / 1_000,
    ),
  ]
}
