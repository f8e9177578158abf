import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import { redact, REDACTED } from '../../redaction/redact.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import type { Sensitivity } from '../../redaction/sensitive.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { ApprovalArguments } from './approval.ts'

/**
 * The edited arguments with which the call will run. The user who edits sees `[redacted]` in place of a secret, and sends this
 * text back. It is replaced by the original value. Throws ARGUMENTS_REDACTED if the original value is not known, or if a secret
 * would have to be kept without a key. `stored` are the stored secrets that the tool gets.
 */
export function argumentsToRun(
  edited: JsonObject,
  { sent, isRedacted = false }: ApprovalArguments,
  marks: Sensitivity,
  sealing: Sealing | undefined,
  stored?: StoredSecrets,
): JsonObject {
  const hidden = (args: JsonObject): JsonValue => redact(stored?.withoutInObject(args) ?? args, marks)

  const whole = isRedacted ? undefined : sent
  const shown = whole && hidden(whole)
  const restored = restoredValue(edited, shown, whole, '') as JsonObject
  if (!sealing && hidden(restored) !== restored) throw new ToolrackError('ARGUMENTS_REDACTED', NOT_KEPT)
  return restored
}

const NOT_KEPT =
  'The edited arguments hold a secret, and this service has no key to seal what it keeps, so nothing was decided. Approve the arguments as they are, deny the call, or ask the operator to set TOOLRACK_SEALING_KEY.'

/** `shown` is the value at the same place of the arguments that the user saw. `original` is the value that was sent there. */
function restoredValue(
  edited: JsonValue,
  shown: JsonValue | undefined,
  original: JsonValue | undefined,
  at: string,
): JsonValue {
  if (typeof edited === 'string') {
    if (!edited.includes(REDACTED)) return edited
    if (edited === shown && original !== undefined) return original
    throw unknownSecret(at)
  }
  if (Array.isArray(edited)) return restoredList(edited as readonly JsonValue[], shown, original, at)
  return isJsonObject(edited) ? restoredObject(edited, shown, original, at) : edited
}

/** Puts the secrets in a list back. If the length of the list has changed, it is not known which item stands for which secret. */
function restoredList(
  edited: readonly JsonValue[],
  shown: JsonValue | undefined,
  original: JsonValue | undefined,
  at: string,
): readonly JsonValue[] {
  const isSame = Array.isArray(shown) && Array.isArray(original) && shown.length === edited.length
  const [shownItems, items] = (isSame ? [shown, original] : [[], []]) as (readonly JsonValue[])[]
  return edited.map((item, index) =>
    restoredValue(item, shownItems?.[index], items?.[index], `${at}/${index}`),
  )
}

function restoredObject(
  edited: JsonObject,
  shown: JsonValue | undefined,
  original: JsonValue | undefined,
  at: string,
): JsonObject {
  const known = isJsonObject(shown) ? shown : {}
  const own = isJsonObject(original) ? original : {}
  const names = originalNames(known, own)
  return Object.fromEntries(
    Object.entries(edited).map(([name, value]) => {
      const place = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const ownName = names.get(name)
      if (ownName === undefined && name.includes(REDACTED)) throw unknownSecret(place)
      return ownName === undefined
        ? [name, restoredValue(value, undefined, undefined, place)]
        : [ownName, restoredValue(value, known[name], own[ownName], place)]
    }),
  )
}

/**
 * The original name of each member that the user saw. The redaction keeps the order of members, but can give two members the same
 * name. Then only names that it did not change are known.
 */
function originalNames(shown: JsonObject, original: JsonObject): ReadonlyMap<string, string> {
  const [shownNames, names] = [Object.keys(shown), Object.keys(original)]
  if (shownNames.length === names.length)
    return new Map(shownNames.map((name, index) => [name, names[index] ?? name]))
  return new Map(names.flatMap((name) => (Object.hasOwn(shown, name) ? [[name, name] as const] : [])))
}

function unknownSecret(at: string): ToolrackError {
  return new ToolrackError(
    'ARGUMENTS_REDACTED',
    `The edited arguments have ${REDACTED} at ${at === '' ? 'their top' : at}, and it is not known which secret it stands for; nothing was decided. Send the whole value, or leave the part around it as it was shown.`,
  )
}
