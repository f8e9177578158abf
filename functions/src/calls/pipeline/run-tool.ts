import {
  toolFailure,
  toolResult,
  ToolrackError,
  type Digest,
  type Layer,
  type ToolLimits,
} from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { ReadsArtifacts } from '../../catalog/builtin/builtins.ts'
import { toolResultOfJson } from '../../json/json-text.ts'
import type { HowRun } from '../../catalog/views/how-run.ts'
import { printedFilter } from '../../redaction/known-secrets.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import { Turns } from '../../loop-turn.ts'
import { outcomeOf, type CallOutcome, type Resolved } from '../call.ts'
import { FilteredEvents } from './filtered-events.ts'
import type { LeftOut, ListFilter } from '../../catalog/views/catalog-view.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'
import { whyNotInSession } from '../../catalog/views/why-not-in-session.ts'
import { ToolFinder } from '../../catalog/search/tool-finder.ts'
import { ToolSearch } from '../../catalog/search/tool-search.ts'
import { ISOLATION_LEVELS, type IsolationLevel } from '../../catalog/definitions/runner.ts'
import type {
  LockedContent,
  MadeContent,
  Runner,
  RunnerEvent,
  RunnerOutcome,
} from '../../catalog/definitions/runner.ts'

/** The UTF-8 bytes of a result that is answered. A larger one is kept as an artifact, or refused if no artifacts are kept. */
export const RESULT_BYTES_MAX = 256 * 1024

/**
 * Finds the content of the module to which a definition belongs, with the lock that `environment` names. `uid` counts only in the layer `user`, where it is the owner.
 * Undefined if the module no longer exists.
 */
export type SourceOf = (
  owner: { readonly layer: Layer; readonly uid: string },
  sha256: string,
  environment?: Digest,
) => Promise<LockedContent | undefined>

/** Makes what reads those artifacts that this principal may read. The signal is aborted when nobody waits for the call any more. */
export type ReadsArtifactsFor = (principal: Principal, signal: AbortSignal) => ReadsArtifacts

export type RunParts = {
  readonly runner: Pick<Runner, 'invoke'>
  readonly sourceOf: SourceOf
  /** The search that the built-in tools use. The default is a new search with a separate index. */
  readonly search?: Pick<ToolSearch, 'find'>
  /** Makes what the built-in tools read artifacts with. Undefined on a service that keeps none. */
  readonly readsArtifacts?: ReadsArtifactsFor | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds that the platform allows for a call. */
  readonly deadlineMsMax: number
  /** The limits of a call whose definition sets none. The defaults are DEADLINE_MS and the runner's own limit of memory. */
  readonly callLimits?: { readonly deadlineMs: number; readonly memoryBytes: number } | undefined
}

/** Runs the tool as its definition says. Throws if the service cannot run it. */
export function runTool(parts: RunParts): (call: Resolved) => Promise<CallOutcome> {
  return async (call) => {
    refuseToRun(call)
    const { howRun, request, signal } = call
    if (signal.aborted) throw new ToolrackError('CANCELLED', GONE)
    const startedMs = performance.now()
    using start = startOf(call)
    if (howRun.by === 'builtin') start.now()
    const outcome =
      howRun.by === 'python'
        ? await runPython(call, howRun, start, parts)
        : outcomeOf(call, toolResult(await howRun.builtin(request.arguments, contextOf(call, parts))))
    return { ...outcome, executionTimeMs: Math.round((performance.now() - startedMs) * 1_000) / 1_000 }
  }
}

const GONE = 'The caller disconnected before the tool was begun; nothing was run.'

/** What a built-in tool gets: the clock, and a search that finds only tools that the caller may see. */
function contextOf(
  { view: whole, principal, request, session, signal }: Resolved,
  { now, search = new ToolSearch(), readsArtifacts }: RunParts,
) {
  const { uid } = principal
  const view = session ? whole.filteredBy(selectedIn(session)) : whole
  return {
    now,
    finder: new ToolFinder({ view, uid, dialect: request.dialect, search, signal }),
    artifacts: readsArtifacts?.(principal, signal),
  }
}

const NOT_CALLABLE: LeftOut = {
  reason: 'NOT_SELECTED',
  message: 'It is not in the selection of the session.',
}

/** A filter that shows only the tools that may be called through the session. */
function selectedIn(session: SessionSelection): ListFilter {
  return { leavesOut: (entry) => (whyNotInSession(session, entry) ? NOT_CALLABLE : undefined) }
}

/**
 * Throws if the definition does not let the service run the tool, whatever the arguments are. `validateArguments` calls this
 * earlier too.
 */
export function refuseToRun(call: Resolved): asserts call is Runnable {
  const { howRun, entry } = call
  if (howRun.by === 'client')
    throw new ToolrackError(
      'RUNS_AT_CLIENT',
      `${entry.name} is run by ${clientOf(howRun)}, not by the service.`,
    )
  if (howRun.by === 'nobody')
    throw new ToolrackError('KIND_NOT_SERVED', `${entry.name} cannot be run: ${howRun.reason}.`)
  if (howRun.by === 'python') minIsolationOf(call)
  if (call.secrets?.refusal) throw call.secrets.refusal
}

type Runnable = Resolved & { readonly howRun: Exclude<HowRun, { by: 'client' | 'nobody' }> }

/** The limits of a call as the service applies them. */
export function limitsOf(
  { howRun, limits }: Pick<Resolved, 'howRun' | 'limits'>,
  { deadlineMsMax, callLimits }: Pick<RunParts, 'deadlineMsMax' | 'callLimits'>,
): ToolLimits {
  return howRun.by === 'python'
    ? { ...limits, timeoutSeconds: deadlineOf(limits, deadlineMsMax, callLimits?.deadlineMs) / 1_000 }
    : limits
}

function clientOf({ workflowName }: HowRun & { by: 'client' }): string {
  return workflowName === undefined ? 'the client' : `the workflow ${workflowName}, which the caller starts`
}

/** Runs a Python tool. The tenant is the caller, not the author of the module, so no process serves two callers. */
async function runPython(
  call: Resolved,
  { module, sha256, network, environment, reuse }: HowRun & { by: 'python' },
  start: Start,
  { runner, sourceOf, deadlineMsMax, callLimits }: RunParts,
): Promise<CallOutcome> {
  const { entry, principal, request, invocationId, limits, signal, secrets } = call
  const printed = lazy(() => printedFilter(request.arguments, marksOf(entry.stored), request.context))
  if (secrets && call.isHeard) await new Turns(signal).run(secrets.stored.prepare())
  const events = new FilteredEvents({ emit: call.emit, printed, stored: secrets?.stored })
  function hear(event: RunnerEvent): Promise<void> | undefined {
    start.now()
    return events.hear(event)
  }
  const answer = await runner.invoke({
    module,
    sha256,
    tool: entry.name,
    arguments: request.arguments,
    context: {
      user: principal.uid,
      invocationId,
      tool: entry.name,
      session: call.session?.id ?? null,
      workflow: principal.workflowId ?? null,
      caller: request.context,
      ...(secrets && { secrets: secrets.values }),
    },
    tenant: principal.uid,
    invocationId,
    traceparent: call.headers.traceparent,
    deadlineMs: leftOf(call, deadlineOf(limits, deadlineMsMax, callLimits?.deadlineMs)),
    memoryBytes: callLimits?.memoryBytes,
    network,
    environment,
    reuse,
    session: reuse === undefined ? undefined : call.session?.id,
    minIsolation: minIsolationOf(call),
    attached: call.attached,
    resultBytesMax: call.resultBytesMax ?? RESULT_BYTES_MAX,
    source: () => sourceOf({ layer: entry.layer, uid: principal.uid }, sha256, environment),
    signal,
    listen: call.isHeard ? hear : undefined,
  })
  if (answer.usage) start.now()
  await events.end({ isLogCut: isLogCut(answer), isValueCut: 'code' in answer })
  const shown = secrets ? await withoutSecrets(answer, secrets.stored) : answer
  const { log = null } = shown
  const outcome = outcomeOfRunner(call, shown)
  return log && log.text !== '' ? { ...outcome, log: { ...log, text: printed()(log.text) } } : outcome
}

function lazy<Value>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= make())
}

/** The outcome without the stored secrets that the tool got. This also runs if the caller has left, because outcomes are kept. */
async function withoutSecrets(answer: RunnerOutcome, stored: StoredSecrets): Promise<RunnerOutcome> {
  const turns = new Turns()
  const { log } = answer
  const shown = log && { log: { ...log, text: await turns.run(stored.without(log.text, isLogCut(answer))) } }
  if ('code' in answer)
    return { ...answer, ...shown, error: await turns.run(stored.withoutInError(answer.error)) }
  const made: MadeContent[] = []
  for (const part of answer.made ?? [])
    made.push({ ...part, name: await turns.run(stored.without(part.name)) })
  const returned = { ...answer, ...shown, ...(answer.made && { made }) }
  if ('json' in returned) return { ...returned, json: await turns.run(stored.withoutInJson(returned.json)) }
  return { ...returned, text: await turns.run(stored.without(returned.text)) }
}

/** The text about faulty arguments, which may repeat a secret, without the stored secrets that the tool would get. */
export function faultWithoutSecrets(
  text: string,
  stored: StoredSecrets,
  signal: AbortSignal,
): Promise<string> {
  return new Turns(signal).run(stored.withoutInError(text))
}

/** True if what the tool has printed may end in the middle: at the limit, or because the tool was killed. */
function isLogCut(answer: RunnerOutcome): boolean {
  return answer.log?.truncated === true || 'code' in answer
}

/** The longest time that a streaming caller waits for the event `start`. A refusal by the runner usually takes less time. */
const START_EVENT_MS_MAX = 1_000

/** Sends the event `start` once: when `now` is called, or after START_EVENT_MS_MAX. */
type Start = Disposable & { readonly now: () => void }

/**
 * Sends the event `start` when the runner has begun, or after START_EVENT_MS_MAX. Until then, a refusal by the runner can still
 * be answered without a stream.
 */
function startOf({ invocationId, isHeard, emit }: Resolved): Start {
  let timer = isHeard ? setTimeout(now, START_EVENT_MS_MAX) : undefined
  function end(): void {
    clearTimeout(timer)
    timer = undefined
  }
  function now(): void {
    if (!timer) return
    end()
    void emit({ type: 'start', invocationId })
  }
  return { now, [Symbol.dispose]: end }
}

/** The deadline of a call in milliseconds, if neither its definition nor the operator sets one. Every call must end. */
export const DEADLINE_MS = 30_000

/** The deadline of a call in milliseconds: that of its definition, or else `usualMs`, but never more than the platform allows. */
export function deadlineOf(
  { timeoutSeconds }: ToolLimits,
  deadlineMsMax: number,
  usualMs: number = DEADLINE_MS,
): number {
  const wantedMs = timeoutSeconds === undefined ? usualMs : Math.round(timeoutSeconds * 1_000)
  return Math.min(Math.max(1, wantedMs), deadlineMsMax)
}

/**
 * Time in the service counts in steps of this many milliseconds, so that most calls have the deadline of their definition, and a
 * message about it has the number that the author has written.
 */
const COUNTED_MS = 100

/**
 * What is left of the deadline of a call, in milliseconds. The time that the call has waited in the queues of the service counts.
 * Throws SERVICE_BUSY if nothing is left: its caller does not wait for the answer any more.
 */
export function leftOf(
  { readAtMs, entry }: Pick<Resolved, 'readAtMs' | 'entry'>,
  deadlineMs: number,
): number {
  const waitedMs = Math.floor((performance.now() - readAtMs) / COUNTED_MS) * COUNTED_MS
  if (waitedMs < deadlineMs) return deadlineMs - waitedMs
  const waited = `The call of ${entry.name} waited in the service until its deadline of ${deadlineMs / 1_000} s`
  throw new ToolrackError('SERVICE_BUSY', `${waited}; nothing was run. Try again.`)
}

/** The level that the definition requires. Throws if this version does not know the level. */
function minIsolationOf({ limits, entry }: Resolved): IsolationLevel | undefined {
  const { minIsolation } = limits
  if (minIsolation === undefined) return undefined
  const level = ISOLATION_LEVELS.find((known) => known === minIsolation)
  if (level) return level
  const fault = `a level of isolation that is none of ${ISOLATION_LEVELS.join(', ')}`
  throw new ToolrackError('ISOLATION_UNAVAILABLE', `${entry.name} asks for ${fault}; nothing was run.`)
}

function outcomeOfRunner(call: Resolved, answer: RunnerOutcome): CallOutcome {
  const { isolation = null, usage = null, log = null, reused } = answer
  if ('code' in answer) {
    const { code, error, kind: failureKind, retryAfterSeconds = null, mayHaveRun = false } = answer
    const outcome = outcomeOf(call, toolFailure(code, error))
    return { ...outcome, isolation, usage, log, reused, retryAfterSeconds, mayHaveRun, failureKind }
  }
  const result = 'json' in answer ? toolResultOfJson(answer.json) : toolResult(answer.text)
  return { ...outcomeOf(call, result), isolation, usage, log, reused, made: answer.made }
}
