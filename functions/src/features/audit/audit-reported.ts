import {
  ERROR_CODES,
  type ErrorCode,
  type JsonObject,
  type ToolCall,
  type ToolResult,
} from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { askedName } from './audit-call.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent } from './record.ts'
import { redactText } from '../../redaction/redact.ts'
import { toolFacts } from './tool-facts.ts'

type Reporter = {
  readonly principal: Principal
  readonly view: CatalogView
  readonly traceparent: string | undefined
}

type ReportedCall = {
  readonly call: Pick<ToolCall, 'id' | 'name'>
  /** Undefined if they cannot be read. */
  readonly arguments: JsonObject | undefined
  readonly result: ToolResult<unknown>
}

/**
 * Records calls that a caller has run. The record has what the caller reports, because the service has not seen the calls run.
 * Rejects with AUDIT_UNAVAILABLE if the trail is required and cannot be written.
 */
export async function auditReported(
  trail: AuditTrail,
  reporter: Reporter,
  calls: readonly ReportedCall[],
): Promise<void> {
  const events = calls.map((call) => () => eventOf(reporter, call))
  await Promise.all(events.map((event) => (trail.isRequired ? trail.require(event) : trail.record(event))))
}

/** The record of a report of calls that was refused as a whole, for example because it cannot be read. */
export function refusedReport(
  principal: Principal,
  traceparent: string | undefined,
  code: ErrorCode,
): AuditEvent {
  const workflow = principal.workflowId ?? null
  return {
    kind: 'call',
    principal,
    workflow,
    outcome: code,
    isReported: true,
    traceparent: traceparent ?? null,
  }
}

function eventOf(
  { principal, view, traceparent = '' }: Reporter,
  { call, arguments: args, result }: ReportedCall,
): AuditEvent {
  const { workflowId = null } = principal
  const entry = view.meaning(call.name)
  return {
    kind: 'call',
    principal,
    workflow: workflowId,
    ...(entry ? toolFacts(entry, args) : { tool: askedName(call.name) }),
    revision: view.revision,
    outcome: result.resultType === 'success' ? 'ok' : knownCode(result.code),
    isReported: true,
    traceparent: traceparent || null,
    ...(call.id !== undefined && { subject: { call: redactText(call.id) } }),
  }
}

/** The code that the caller has reported, if the service knows it. Any other code means only that the tool has failed. */
function knownCode(code: ErrorCode | undefined): ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) ? code : 'TOOL_RAISED'
}
