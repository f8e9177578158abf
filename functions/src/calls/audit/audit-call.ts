import { isToolName, type JsonValue, type RuleDecision } from '@toolrack/contract'
import type { CallOutcome, Known, Received, Resolved } from '../pipeline/call.ts'
import type { Step } from '../pipeline/onion.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent } from './record.ts'
import { redactText } from './redact.ts'
import { toolFacts, type ToolFacts } from './tool-facts.ts'

/** Records every call when it has ended, also a call that was refused. */
export function auditCall(trail: AuditTrail): Step<Received> {
  return async (call, next) => {
    const startedMs = performance.now()
    const outcome = await next(call)
    const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000
    await trail.record(() => endOf(outcome, durationMs))
    return outcome
  }
}

/**
 * Notes that a call is about to run, so that the next start can record it if the service is killed. With TOOLRACK_AUDIT=required, it is
 * recorded before it runs. If this is not possible, it does not run.
 */
export function auditStart(trail: AuditTrail): Step<Resolved> {
  return (call, next) => {
    let facts: ToolFacts | undefined
    const recorded = (): ToolFacts => (facts ??= toolFacts(call.entry, call.request.arguments))
    const started: Resolved & Added = { ...call, recorded }
    const begun = trail.begin(() => ({ ...factsOf(started), phase: 'start', outcome: 'started' }))
    const proceed = (): Promise<CallOutcome> => next(started)
    return begun ? begun.then(proceed) : proceed()
  }
}

function endOf(
  { call, result, usage, isolation, replayed, approval }: CallOutcome,
  durationMs: number,
): AuditEvent {
  const outcome = result.resultType === 'success' ? 'ok' : result.code
  const facts = factsOf(call)
  return {
    ...facts,
    approval: approval?.id ?? facts.approval ?? null,
    outcome,
    durationMs,
    usage,
    isolation,
    replayed,
  }
}

/** Facts that other steps may add to a call. `recorded` is what was computed for the start, so that it is not computed twice. */
type Added = { readonly isDryRun?: boolean; readonly recorded?: () => ToolFacts }

/**
 * What is known of a call. The error and the result are not recorded. The arguments of a call whose tool was not found are not recorded
 * either: which of them are sensitive is not known without its schema.
 */
function factsOf(call: Known & Added): Omit<AuditEvent, 'outcome'> {
  const { principal, entry, request, view, decision, session, isDryRun } = call
  const { workflowId = null } = principal
  return {
    kind: 'call',
    principal,
    workflow: workflowId,
    session: call.sessionId ?? null,
    agent: session?.agent ?? null,
    ...(call.recorded?.() ??
      (entry ? toolFacts(entry, request?.arguments) : { tool: askedName(request?.name) })),
    revision: view?.revision ?? null,
    ...(decision && { rule: recordedRule(decision) }),
    decision: decision?.effect ?? null,
    approval: call.usedApproval ?? null,
    isDryRun,
    invocationId: call.invocationId,
    parentInvocationId: call.parentInvocationId,
    traceparent: call.headers.traceparent ?? null,
  }
}

export function askedName(name: string | undefined): string | null {
  return name !== undefined && isToolName(name) ? redactText(name) : null
}

/** The rule that has decided, as in a record. Its index is null for the default of its owner. */
export function recordedRule({ owner, rule }: Pick<RuleDecision, 'owner' | 'rule'>): JsonValue {
  return owner && { owner: { ...owner }, index: rule }
}
