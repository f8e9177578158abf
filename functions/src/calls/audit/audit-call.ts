import { isToolName } from '@toolrack/contract'
import type { StoredDefinition } from '../../tools/catalog/layer-source.ts'
import type { CallOutcome, Known, Received, Resolved } from '../pipeline/call.ts'
import type { Step } from '../pipeline/onion.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent } from './record.ts'
import { recordedArguments, redactText } from './redact.ts'
import { sensitivityOf, type Sensitivity } from './sensitive.ts'

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
export function auditStart(trail: AuditTrail): Step<Resolved> {
  return async (call, next) => {
    await trail.require(() => ({ ...factsOf(call), phase: 'start', outcome: 'started' }))
    return next(call)
  }
}

function endOf({ call, result, usage, isolation, replayed }: CallOutcome, durationMs: number): AuditEvent {
  const outcome = result.resultType === 'success' ? 'ok' : result.code
  return { ...factsOf(call), outcome, durationMs, usage, isolation, replayed }
}

/** A fact that another step may add to a call. */
type Added = { readonly isDryRun?: boolean }

/**
 * What is known of a call. The error and the result are not recorded. The arguments of a call whose tool was not found are not recorded
 * either: which of them are sensitive is not known without its schema.
 */
function factsOf(call: Known & Added): Omit<AuditEvent, 'outcome'> {
  const { principal, entry, request, view, decision, session, isDryRun } = call
  const { kind, uid, workflowId = null } = principal
  return {
    kind: 'call',
    principal: { kind, uid },
    workflow: workflowId,
    session: call.sessionId ?? null,
    agent: session?.agent ?? null,
    tool: entry?.name ?? askedName(request?.name),
    layer: entry?.layer ?? null,
    digest: entry?.digest ?? null,
    revision: view?.revision ?? null,
    ...(decision?.owner && { rule: { owner: { ...decision.owner }, index: decision.rule } }),
    decision: decision?.effect ?? null,
    ...(entry && request && recordedArguments(request.arguments, marksOf(entry.stored))),
    isDryRun,
    invocationId: call.invocationId,
    parentInvocationId: call.parentInvocationId,
    traceparent: call.headers.traceparent ?? null,
  }
}

function askedName(name: string | undefined): string | null {
  return name !== undefined && isToolName(name) ? redactText(name) : null
}

/** What the schema of each definition marks. A definition that is no longer in the catalog takes its entry along. */
const MARKS = new WeakMap<StoredDefinition, Sensitivity>()

function marksOf(stored: StoredDefinition): Sensitivity {
  let marks = MARKS.get(stored)
  if (!marks) MARKS.set(stored, (marks = sensitivityOf(stored.text)))
  return marks
}
