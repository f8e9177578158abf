import { isToolName, type JsonValue, type RuleDecision } from '@toolrack/contract'
import type { CallOutcome, Known, Received, Resolved } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { usedGrants } from '../../calls/used-grants.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent } from './record.ts'
import { redactText } from '../../redaction/redact.ts'
import { toolFacts } from './tool-facts.ts'

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

/** Records that a call is about to run. If this cannot be recorded, the call does not run. Only for TOOLRACK_AUDIT=required. */
export function auditStart<Call extends Resolved>(trail: AuditTrail): Step<Call> {
  return async (call, next) => {
    const started = withFacts(call)
    await trail.begin(() => startOf(started))
    return next(started)
  }
}

/**
 * Runs a call, and first notes that it is about to run. If the service is killed during the call, its next start records the
 * noted call. Most calls of built-in tools end in the same turn of the event loop, and are not noted.
 */
export function noteStart<Call extends Resolved>(trail: AuditTrail): Step<Call> {
  return (call, next) => {
    const started = withFacts(call)
    const event = (): AuditEvent => startOf(started)
    if (call.howRun.by === 'builtin') trail.noteSoon(call.invocationId, event)
    else void trail.begin(event)
    return next(started)
  }
}

function startOf(call: Resolved & Added): AuditEvent {
  const { grants } = call.entry
  return {
    ...knownOf(call),
    phase: 'start',
    outcome: 'started',
    ...(grants.length > 0 && { grants }),
  }
}

/**
 * Adds a function to the call that computes the facts for the call's records, only once. The records of its start and of its end
 * can share the facts, because no step adds a fact in between.
 */
function withFacts<Call extends Resolved>(call: Call): Call & Added {
  let facts: Facts | undefined
  return { ...call, recorded: () => (facts ??= factsOf(call)) }
}

function knownOf(call: Known & Added): Facts {
  return call.recorded?.() ?? factsOf(call)
}

function endOf(ended: CallOutcome, durationMs: number): AuditEvent {
  const { call, result, usage, isolation, replayed } = ended.own ?? ended
  const { approval } = ended
  const outcome = result.resultType === 'success' ? 'ok' : result.code
  const facts = knownOf(call)
  return {
    ...facts,
    approval: approval?.id ?? facts.approval ?? null,
    outcome,
    durationMs,
    usage,
    isolation,
    replayed,
    grants: usedGrants(ended.own ?? ended),
  }
}

type Facts = Omit<AuditEvent, 'outcome'>

/** What other steps may add to a call, and this file reads. */
type Added = { readonly isDryRun?: boolean; readonly recorded?: () => Facts }

/**
 * The facts of a call for its record. The error and the result are not recorded. If the tool was not found, the arguments are not
 * recorded either: without a schema, it is not known which of them are sensitive.
 */
function factsOf(call: Known & Added): Facts {
  const { principal, entry, request, view, decision, session, isDryRun } = call
  const { workflowId = null } = principal
  return {
    kind: 'call',
    principal,
    workflow: workflowId,
    session: call.sessionId ?? null,
    agent: session?.agent ?? null,
    ...(entry
      ? toolFacts(entry, request?.arguments, call.secrets?.stored)
      : { tool: askedName(request?.name) }),
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
