import type { JsonObject } from '@toolrack/contract'
import { redact } from '../../redaction/redact.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import type { Sensitivity } from '../../redaction/sensitive.ts'
import type { SealedPlace, Sealing } from '../../calls/sealing.ts'
import type { ApprovalArguments } from './approval.ts'

/**
 * The arguments of a call as they are kept. Without a key, they are kept without the texts that are recognized as secrets, and
 * without the `stored` secrets that the tool gets.
 */
export function argumentsToKeep(
  sent: JsonObject,
  marks: Sensitivity,
  sealing: Sealing | undefined,
  stored?: StoredSecrets,
): ApprovalArguments {
  if (sealing) return { sent }
  const redacted = redact(stored?.withoutInObject(sent) ?? sent, marks) as JsonObject
  return redacted === sent ? { sent } : { sent: redacted, isRedacted: true }
}

/** The text that the store keeps: sealed if there is a key. */
export function keptText(
  args: ApprovalArguments,
  { uid, id }: { readonly uid: string; readonly id: string },
  sealing: Sealing | undefined,
): string {
  const text = JSON.stringify(args)
  return sealing ? sealing.seal(text, placeOf(uid, id)) : text
}

/**
 * The arguments in a kept text. Undefined for a text that was not sealed with the present key for this approval. If there is a
 * key, a text that is not sealed is refused too, because somebody else may have written it into the store.
 */
export function argumentsIn(
  text: string,
  { uid, id }: { readonly uid: string; readonly id: string },
  sealing: Sealing | undefined,
): ApprovalArguments | undefined {
  const opened = sealing ? sealing.open(text, placeOf(uid, id)) : text
  // Without a key, a sealed text cannot be read. JSON begins with a brace.
  return opened?.startsWith('{') ? (JSON.parse(opened) as ApprovalArguments) : undefined
}

function placeOf(uid: string, id: string): SealedPlace {
  return { kind: 'approval arguments', uid, id }
}
