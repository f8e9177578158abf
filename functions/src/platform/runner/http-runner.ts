import { ToolrackError } from '@toolrack/contract'
import { withinMs } from '../../within-ms.ts'
import { sentContent } from '../../catalog/definitions/module-content.ts'
import { noCheck } from '../../catalog/definitions/runner.ts'
import type {
  ArgumentFile,
  ForgottenModule,
  LockedContent,
  ModuleCheck,
  Runner,
  RunnerAway,
  RunnerCall,
  RunnerHealth,
  RunnerOutcome,
} from '../../catalog/definitions/runner.ts'
import type { CheckReport } from '../../catalog/definitions/check-report.ts'
import { CheckEvents } from './check-events.ts'
import { EventReader } from './event-reader.ts'
import { checkBody, readCheck } from './read-check.ts'
import { HEALTH_PATIENCE, healthProbe, type HealthProbe } from './health-probe.ts'
import { cancelled, readOutcome, unavailable, uncertain, WANTS_SOURCE } from './read-outcome.ts'
import { RunnerConnections } from './runner-connection.ts'
import type { NoAnswer, RunnerAnswer, RunnerEndpoint } from './runner-request.ts'

/** The endpoint to which requests are sent now, or the reason why there is none. */
export type PresentEndpoint = RunnerEndpoint | RunnerAway

type HttpRunnerOptions = {
  /**
   * Returns the present endpoint. It is the same object as long as it is the same runner. If the endpoint has to be looked up,
   * returns a promise, which never rejects.
   */
  readonly endpoint: () => PresentEndpoint | Promise<PresentEndpoint>
  /** Resolves when a `starting` runner has started, has failed to start, or was stopped. Never rejects. */
  readonly started?: Promise<void>
  /** Called with an endpoint at which no runner answers, or whose runner refuses this service. */
  readonly failed?: (endpoint: RunnerEndpoint) => void
  readonly close?: () => Promise<void>
  readonly patience?: Partial<typeof PATIENCE>
}

/** How many milliseconds a call or a check waits for a runner that is starting. A start usually takes less than a second. */
const START_WAIT_MS_MAX = 10_000

const PATIENCE = {
  ...HEALTH_PATIENCE,
  startMs: START_WAIT_MS_MAX,
  /**
   * Milliseconds that are added to the deadline of a call, for the network and the runner's queue. The runner itself enforces the
   * deadline.
   */
  graceMs: 3_000,
  /**
   * The most milliseconds for a check, with its wait in the queue. The import and the examples together get less time from the
   * runner. Hosting waits longer for an answer. A check that reports its progress may take this time after each report: how long
   * packages may take is a setting of the runner, TOOLRACK_PACKAGES_SECONDS.
   */
  checkMs: 45_000,
  /** The most milliseconds for the request that makes the runner forget a module. Nobody waits for it. */
  forgetMs: 5_000,
}

/** A runner in another process or on another machine, which is used over HTTP. */
export class HttpRunner implements Runner {
  readonly #options: HttpRunnerOptions
  readonly #patience: typeof PATIENCE
  readonly #connections = new RunnerConnections()
  #probe: HealthProbe | undefined

  constructor(options: HttpRunnerOptions) {
    this.#options = options
    this.#patience = { ...PATIENCE, ...options.patience }
  }

  async health(): Promise<RunnerHealth> {
    const found = Promise.resolve(this.#options.endpoint())
    // `health` answers soon, even while the endpoint is being looked up.
    const endpoint = await withinMs(this.#patience.deadlineMs, found, () => LOOKED_UP)
    if ('status' in endpoint) return endpoint
    if (this.#probe?.endpoint !== endpoint) this.#probe = healthProbe(endpoint, this.#patience)
    const health = await this.#probe.health()
    if (health.status === 'unreachable') this.#options.failed?.(endpoint)
    return health
  }

  /**
   * Sends the call without the source of the module. If the runner answers that it needs the source, or the environment of its
   * packages, it has run nothing. Only then is a second request sent, with the source and the lock. The time of the call begins when the runner has started.
   */
  async invoke({ source, signal, ...call }: RunnerCall): Promise<RunnerOutcome> {
    await this.#waitForStart(signal)
    const endMs = performance.now() + call.deadlineMs + this.#patience.graceMs
    const first = await this.#ask(call, endMs, signal)
    if (first !== WANTS_SOURCE) return first
    const content = await source()
    if (content === undefined)
      return { code: 'TOOL_NOT_FOUND', error: `Unsupported tool: ${call.tool} (its module is gone)` }
    const { lock } = content
    if (call.environment !== undefined && !lock) return { code: 'PACKAGES_UNAVAILABLE', error: NO_LOCK }
    const second = await this.#ask({ ...call, ...sentContent(content), lock }, endMs, signal)
    return second === WANTS_SOURCE ? unavailable('does not keep the module that it was sent') : second
  }

  async check(module: ModuleCheck): Promise<CheckReport> {
    await this.#waitForStart(module.signal)
    const endpoint = await this.#options.endpoint()
    if ('status' in endpoint) throw new ToolrackError('RUNNER_UNAVAILABLE', noCheck(endpoint.reason))
    const { checkMs } = this.#patience
    const { onProgress } = module
    const progress = onProgress && { events: new CheckEvents(onProgress), idleMs: checkMs }
    const request = { path: '/check', body: checkBody(module), deadlineMs: checkMs, ...progress } as const
    const answer = await this.#connections.post(endpoint, request)
    if (isFailed(answer)) this.#options.failed?.(endpoint)
    return readCheck(answer, module)
  }

  async forget(module: ForgottenModule): Promise<void> {
    const endpoint = await this.#options.endpoint()
    if ('status' in endpoint) return
    const request = { path: '/forget', body: JSON.stringify(module) } as const
    await this.#connections.post(endpoint, { ...request, deadlineMs: this.#patience.forgetMs })
  }

  async close(): Promise<void> {
    this.#connections.close()
    await this.#options.close?.()
  }

  /** Waits while the runner is starting, for at most `startMs`, or until the caller disconnects. */
  async #waitForStart(signal: AbortSignal | undefined): Promise<void> {
    const { endpoint, started } = this.#options
    if (!started) return
    const found = await endpoint()
    if (!('status' in found) || found.status !== 'starting' || signal?.aborted) return
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    signal?.addEventListener('abort', () => resolve(), { once: true })
    await withinMs(this.#patience.startMs, Promise.race([started, gone]), () => undefined)
  }

  async #ask(
    call: Omit<RunnerCall, 'source' | 'signal'> &
      Partial<ReturnType<typeof sentContent>> &
      Pick<LockedContent, 'lock'>,
    endMs: number,
    signal: AbortSignal,
  ): Promise<RunnerOutcome | typeof WANTS_SOURCE> {
    const endpoint = await this.#options.endpoint()
    if (signal.aborted) return cancelled(false)
    if ('status' in endpoint)
      return {
        code: 'RUNNER_UNAVAILABLE',
        error: `Nothing was run: ${endpoint.reason}`,
        retryAfterSeconds: 1,
      }
    const { minIsolation, memoryBytes, resultBytesMax: outputBytes, listen, attached, ...fields } = call
    const stream = listen ? true : undefined
    const limits = { outputBytes, memoryBytes, minIsolation }
    const body = JSON.stringify({ ...fields, stream, limits, attached: attached?.map(inBase64) })
    const deadlineMs = Math.max(1, Math.ceil(endMs - performance.now()))
    const events = new EventReader(listen)
    // A call that sends its source or files is large, and a listener may make its connection wait. They go alone.
    const isOfBatch = !listen && !attached && !('sha256' in call && ('source' in call || 'files' in call))
    const request = { path: '/invoke', body, deadlineMs, signal, events, isOfBatch } as const
    const answer = await this.#connections.post(endpoint, request)
    const outcome = withLog(outcomeOf(answer), events)
    // If the caller disconnected before the runner was reached, nothing is wrong with the endpoint, so it is not reported as
    // failed.
    if (outcome !== WANTS_SOURCE && !signal.aborted && isFailed(answer)) this.#options.failed?.(endpoint)
    return outcome
  }
}

function inBase64({ pointer, name, bytes }: ArgumentFile) {
  const { buffer, byteOffset, byteLength } = bytes
  return { pointer, name, data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') }
}

const NO_LOCK =
  'Nothing was run: the lock of its packages is not kept any more. Upload the module again, which resolves them anew.'

const LOOKED_UP: RunnerAway = { status: 'starting', reason: 'The runner is being looked up.' }

function outcomeOf(answer: RunnerAnswer | NoAnswer): RunnerOutcome | typeof WANTS_SOURCE {
  if ('httpStatus' in answer) return readOutcome(answer)
  if (answer.isCancelled) return cancelled(answer.wasSent)
  return answer.wasSent ? uncertain(answer.how) : unavailable(answer.how)
}

/** Adds the text that the tool has printed to the outcome of a call that was lost. */
function withLog(outcome: RunnerOutcome | typeof WANTS_SOURCE, { log }: EventReader): typeof outcome {
  return outcome === WANTS_SOURCE || outcome.log || !log ? outcome : { ...outcome, log }
}

/** True if the runner was not reached, or if the answer may come from another program than a runner. */
function isFailed(answer: RunnerAnswer | NoAnswer): boolean {
  return 'httpStatus' in answer ? [401, 403, 404].includes(answer.httpStatus) : !answer.wasSent
}
