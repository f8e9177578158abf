import { isToolName } from '@toolrack/contract'
import { redactText } from '../../redaction/redact.ts'
import type { CallOutcome, Known, Received } from '../call.ts'
import type { CallFacts, InvocationLog, InvocationLogs } from '../invocation-logs.ts'
import type { Step } from '../onion.ts'

/**
 * Counts a call that has ended. `atMs` is when it arrived, in milliseconds since 1970. Every number of calls that the service
 * tells comes from here. `isOwn`: the tool is in the caller's own layer. It must not wait for anything, and must not throw.
 */
export type CountCall = (uid: string, call: CallFacts, atMs: number, isOwn: boolean) => void

export type KeepParts = {
  readonly logs: Pick<InvocationLogs, 'keep'>
  readonly countCall?: CountCall | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Counts every call when it has ended, also a refused call, and keeps it in its caller's history. The history has what the tool
 * printed, without the secrets that can be recognized. A call that cannot be kept counts too.
 */
export function keepCall({ logs, now, countCall }: KeepParts): Step<Received> {
  return async (call, next) => {
    const atMs = now()
    const startedMs = performance.now()
    const outcome = await next(call)
    const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000
    const ended = { at: new Date(atMs).toISOString(), durationMs, ...factsOf(outcome.own ?? outcome) }
    // A call that was followed by others took the time of all of them, and its tool only that of its own run.
    const counted = outcome.own ? { ...ended, durationMs: outcome.own.executionTimeMs } : ended
    const isOwn = (outcome.own ?? outcome).call.entry?.layer === 'user'
    countCall?.(call.principal.uid, counted, atMs, isOwn)
    await logs.keep(call.principal.uid, ended)
    return outcome
  }
}

function factsOf({ call, result, ...outcome }: CallOutcome): Omit<InvocationLog, 'at' | 'durationMs'> {
  const { log } = outcome
  return {
    invocationId: call.invocationId,
    parentInvocationId: call.parentInvocationId,
    tool: toolOf(call),
    digest: call.entry?.digest ?? null,
    revision: call.view?.revision ?? null,
    outcome: result.resultType,
    code: result.resultType === 'failure' ? result.code : null,
    isolation: outcome.isolation,
    usage: outcome.usage,
    replayed: outcome.replayed,
    dryRun: call.isDryRun,
    workflow: call.principal.workflowId ?? null,
    decision: call.decision ?? null,
    ...artifactsOf(result, outcome.artifact),
    log: log !== null && log.text !== '' ? { text: redactText(log.text), truncated: log.truncated } : null,
  }
}

/** The ids of the artifacts of a result: of its whole text, and of its images and files. */
function artifactsOf(
  result: CallOutcome['result'],
  whole: string | null,
): { readonly artifacts?: readonly string[] } {
  const content = (result.resultType === 'success' && result.content) || []
  const ids = content.flatMap((part) => (part.type === 'text' ? [] : [part.artifact]))
  const artifacts = whole === null ? ids : [whole, ...ids]
  return artifacts.length > 0 ? { artifacts } : {}
}

function toolOf({ entry, request }: Known): string | null {
  if (entry) return entry.name
  return request && isToolName(request.name) ? redactText(request.name) : null
}
