import { isToolName } from '@toolrack/contract'
import { redactText } from '../../redaction/redact.ts'
import type { CallOutcome, Known, Received } from '../call.ts'
import type { InvocationLog, InvocationLogs } from '../invocation-logs.ts'
import type { Step } from '../onion.ts'

export type KeepParts = {
  readonly logs: Pick<InvocationLogs, 'keep'>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Keeps every call in its caller's history when it has ended, also a refused call. The history has what the tool printed, without
 * the secrets that can be recognized.
 */
export function keepCall({ logs, now }: KeepParts): Step<Received> {
  return async (call, next) => {
    const at = new Date(now()).toISOString()
    const startedMs = performance.now()
    const outcome = await next(call)
    const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000
    await logs.keep(call.principal.uid, { at, durationMs, ...factsOf(outcome) })
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
    log: log !== null && log.text !== '' ? { text: redactText(log.text), truncated: log.truncated } : null,
  }
}

function toolOf({ entry, request }: Known): string | null {
  if (entry) return entry.name
  return request && isToolName(request.name) ? redactText(request.name) : null
}
