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
  const { rule, subject, kind, grants } = event
  const redacted: { -readonly [Field in keyof AuditEvent]?: AuditEvent[Field] } = {}
  for (const field of CHOSEN) {
    const text = event[field]
    if (typeof text === 'string') redacted[field] = redactText(text)
  }
  if (grants) redacted.grants = grants.map((grant) => ({ ...grant, value: redactText(grant.value) }))
  if (rule !== undefined) redacted.rule = redact(rule)
  // The service makes the records of erasures and removals itself, and a verification reads them.
  const isRead = kind === 'erasure' || kind === 'retention'
  if (subject !== undefined && !isRead) redacted.subject = redact(subject) as JsonObject
  return { ...event, ...redacted }
}
