import { isJsonObject, parsedJson, type JsonObject, type JsonValue } from '@toolrack/contract'
import { redact, REDACTED, redactText } from './redact.ts'
import { NOT_SENSITIVE, type Sensitivity } from './sensitive.ts'

/** Removes secrets from a text. */
export type TextFilter = {
  (text: string): string
  /** The secrets that have line breaks. A text that is filtered line by line can hold the beginning of one. */
  readonly ofSeveralLines: readonly string[]
}

/** A shorter value would be found in many words that are no secrets. */
const LENGTH_MIN = 4

/** The most secrets that a text is looked through for, which takes 0.1 ms for each in 64 KB. With more, the whole text is removed. */
const SECRETS_MAX = 200

/**
 * Removes from what a tool prints the secrets that can be recognised, and those that its caller has sent: what a record would not have
 * of the arguments, as it is and as JSON, percent-encoded or in base64.
 */
export function printedFilter(args: JsonObject, marks: Sensitivity, context: JsonObject = {}): TextFilter {
  const found = new Set<string>()
  collect(args, redact(args, marks), found)
  collect(context, redact(context, NOT_SENSITIVE), found)
  const secrets = [...found].filter((secret) => secret.length >= LENGTH_MIN)
  const spelled = [...new Set(secrets.slice(0, SECRETS_MAX).flatMap(spellings))].toSorted(
    // The longest first: a secret can be a part of another one.
    (a, b) => b.length - a.length,
  )
  const filter = (text: string): string => {
    if (secrets.length > SECRETS_MAX) return text === '' ? text : `${REDACTED}\n`
    let rest = text
    for (const secret of spelled) rest = rest.replaceAll(secret, REDACTED)
    return redactText(rest)
  }
  return Object.assign(filter, { ofSeveralLines: spelled.filter((secret) => secret.includes('\n')) })
}

/** As it is, in JSON with and without other letters than those of ASCII, percent-encoded as JavaScript and Python do, and in base64. */
function spellings(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const percent = encodeURIComponent(secret.toWellFormed())
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  const asciiJson = json.replaceAll(
    /[^ -~]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const pythonPercent = percent.replaceAll('%2F', '/')
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_')
  return [secret, json, asciiJson, percent, pythonPercent, base64, base64url]
}

/** Collects what stands in `original` in place of each secret of `redacted`. */
function collect(original: JsonValue, redacted: JsonValue, found: Set<string>): void {
  if (original === redacted) return
  if (redacted === REDACTED) return collectAll(original, found)
  if (typeof original === 'string' && typeof redacted === 'string')
    return collectInText(original, redacted, found)
  if (typeof original !== 'object' || original === null) return
  const [values, kept] = [Object.entries(original), Object.entries(redacted as object)] as [
    string,
    JsonValue,
  ][][]
  // Two members whose names hold secrets can have become one.
  if (values?.length !== kept?.length) return collectAll(original, found)
  for (const [index, [name, value]] of (values ?? []).entries()) {
    const [keptName, keptValue] = kept?.[index] ?? [name, value]
    collect(name, keptName, found)
    collect(value, keptValue, found)
  }
}

function collectAll(value: JsonValue, found: Set<string>): void {
  if (typeof value === 'string' || typeof value === 'number') found.add(String(value))
  else if (isJsonObject(value) || Array.isArray(value))
    for (const member of Object.values(value) as JsonValue[]) collectAll(member, found)
}

function collectInText(original: string, redacted: string, found: Set<string>): void {
  const [value, kept] = [parsedJson(original), parsedJson(redacted)]
  if (typeof value === 'object' && value !== null && typeof kept === 'object' && kept !== null)
    return collect(value as JsonValue, kept as JsonValue, found)
  let from = 0
  const [first = '', ...parts] = redacted.split(REDACTED)
  from = first.length
  for (const [index, part] of parts.entries()) {
    const to = index === parts.length - 1 && part === '' ? original.length : original.indexOf(part, from)
    if (to < from) return void found.add(original)
    const secret = original.slice(from, to)
    found.add(secret)
    // The user and the password of a URL.
    if (secret.includes(':')) found.add(secret.slice(secret.indexOf(':') + 1))
    from = to + part.length
  }
}
