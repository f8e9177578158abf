import { isToolrackError, LAYERS, type JsonObject, type Layer } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { AuditTrail } from './audit-trail.ts'
import type { AuditEvent } from './record.ts'
import { redact, REDACTED, redactText } from '../../redaction/redact.ts'
import { validTraceparent } from './traceparent.ts'
import type { Noted, RecordedRequest } from '../../http/route.ts'
import { requestError } from '../../http/send-error.ts'

/**
 * Runs the handler of a request, and records how it ended, also if it was refused. With TOOLRACK_AUDIT=required, another record
 * is written before the handler runs. If that fails, the handler does not run.
 */
export async function audited(
  trail: AuditTrail,
  { principal, route, found }: RecordedRequest,
  act: (note: (noted: Noted) => void) => void | Promise<void>,
): Promise<void> {
  const { req, res, params, search } = found
  const { workflowId = null } = principal
  const {
    kind = 'write',
    names: named,
    layer,
    isName = () => true,
  } = typeof route.audit === 'object' ? route.audit : {}
  // A value that was sent in place of a name by mistake may be a secret.
  const names = Object.values<string>(params).map((name) => (isName(name) ? name : REDACTED))
  let noted: Noted = {}
  // Pairs the record of the start with that of the end.
  const invocationId = randomUUID()
  const event = (phase: 'start' | 'end', outcome: string): AuditEvent => ({
    kind,
    phase,
    principal,
    workflow: workflowId,
    outcome,
    tool: named === 'tool' && names[0] !== undefined ? redactText(names[0]) : null,
    layer: layer === 'query' ? layerIn(search) : null,
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

function layerIn(search: string): Layer {
  const asked = new URLSearchParams(search).get('layer')
  return LAYERS.find((layer) => layer === asked) ?? 'user'
}
