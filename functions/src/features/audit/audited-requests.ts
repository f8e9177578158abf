import { isToolrackError, type JsonObject } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent, AuditKind } from './record.ts'
import { redact, redactText } from '../../redaction/redact.ts'
import { validTraceparent } from './traceparent.ts'
import type { Action, Principal } from '../../access/principal.ts'
import type { FoundRequest, Noted, Route } from '../../http/route.ts'
import { requestError } from '../../http/send-error.ts'

/** What reads only, and calls, which have records of their own with what they did. */
const NOT_RECORDED: ReadonlySet<Action['verb']> = new Set(['read', 'call', 'read-audit'])

/** What changes nothing that is kept, and what an auditor looks for all the same: who tries out rules, and who loads modules again. */
const OWN_KINDS: Partial<Record<Action['verb'], AuditKind>> = { simulate: 'simulation', refresh: 'refresh' }

/** True for a route that changes or decides something, and for those of OWN_KINDS. */
export function isAudited({ method, action }: Route): boolean {
  return method !== 'GET' && (typeof action === 'function' || !NOT_RECORDED.has(action.verb))
}

function kindOf({ path, action }: Route): AuditKind {
  const own = typeof action === 'function' ? undefined : OWN_KINDS[action.verb]
  return own ?? (path.startsWith('/approvals') ? 'approval' : 'write')
}

/**
 * Runs the handler of a request that is recorded, and records how it ended, also if it was refused. With TOOLRACK_AUDIT=required it is recorded before
 * too, and is not done if it cannot be recorded.
 */
export async function audited(
  trail: AuditTrail,
  { principal, route, found }: { principal: Principal; route: Route; found: FoundRequest },
  act: (note: (noted: Noted) => void) => void | Promise<void>,
): Promise<void> {
  const { req, res, params, search } = found
  const { workflowId = null } = principal
  const names = Object.values<string>(params)
  let noted: Noted = {}
  // Pairs the record of the start with that of the end.
  const invocationId = randomUUID()
  const event = (phase: 'start' | 'end', outcome: string): AuditEvent => ({
    kind: kindOf(route),
    phase,
    principal,
    workflow: workflowId,
    outcome,
    tool: route.path.startsWith('/tools/defs/') ? redactText(names[0] ?? '') : null,
    layer: route.path.startsWith('/tools/')
      ? new URLSearchParams(search).get('layer') === 'global'
        ? 'global'
        : 'user'
      : null,
    invocationId,
    traceparent: validTraceparent(req.headers.traceparent?.toString()) ?? null,
    ...noted,
    subject: {
      route: `${route.method} ${route.path}`,
      names: names.map((name) => redactText(name.slice(0, 256))),
      ...(redact(noted.subject ?? {}) as JsonObject),
    },
  })
  await trail.begin(() => event('start', 'started'))
  const startedMs = performance.now()
  const end = (outcome: string): Promise<void> => {
    const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000
    return trail.record(() => ({ ...event('end', outcome), durationMs }))
  }
  try {
    await act((told) => (noted = { ...noted, ...told, subject: { ...noted.subject, ...told.subject } }))
  } catch (error) {
    const known = requestError(error) ?? error
    await end(isToolrackError(known) ? known.code : 'INTERNAL')
    throw error
  }
  await end(res.statusCode < 400 ? 'ok' : String(res.statusCode))
}
