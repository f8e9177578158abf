import type { JsonObject } from '@toolrack/contract'
import type { AuditEvent } from './record.ts'
import { redact, redactText } from '../../redaction/redact.ts'

/** Fields whose texts callers choose. All other texts are made by the service, or were redacted by the schema of the tool. */
const CHOSEN = ['agent', 'session', 'workflow', 'tool', 'parentInvocationId'] as const

/**
 * The event without the secrets that can be recognized in its texts, because a name or an id can have the shape of a key. The uid
 * of the principal stays, because records are found and erased by it.
 */
export function redactedEvent(event: AuditEvent): AuditEvent {
  const texts = CHOSEN.flatMap((field) => {
    const text = event[field]
    return typeof text === 'string' ? [[field, redactText(text)] as const] : []
  })
  const { rule, subject, kind, grants } = event
  // The service makes the records of erasures and removals itself, and a verification reads them.
  const isRead = kind === 'erasure' || kind === 'retention'
  return {
    ...event,
    ...Object.fromEntries(texts),
    ...(grants && { grants: grants.map((grant) => ({ ...grant, value: redactText(grant.value) })) }),
    ...(rule !== undefined && { rule: redact(rule) }),
    ...(subject !== undefined && !isRead && { subject: redact(subject) as JsonObject }),
  }
}
