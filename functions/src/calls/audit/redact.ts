import { canonicalJson, isJsonObject, parsedJson, type JsonObject, type JsonValue } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { scanJson } from '../../tools/json/scan-json.ts'
import { REDACTED, withoutNamedSecrets } from './named-secrets.ts'
import { isCountName, isSecretName } from './secret-names.ts'
import { isSensitive, NOT_SENSITIVE, type Sensitivity } from './sensitive.ts'

export { REDACTED } from './named-secrets.ts'

/** The levels of JSON inside strings that are read. A string inside them that looks like JSON is removed whole. */
const NESTED_MAX = 4

/** Values nested deeper are removed. Arguments have at most 32 levels; JSON inside a string can have more. */
const DEPTH_MAX = 64

/**
 * Secrets by their shape. Callers choose the texts, so every pattern takes linear time: it begins at the start of a word only, and
 * repeats one class of characters.
 */
const SHAPES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[^]*?(?:-----END [A-Z0-9 ]{0,60}-----|$)/g,
    REDACTED,
  ],
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){1,3}/g, REDACTED],
  [/(?<![\w-])(?:sk|pk|rk)[-_][\w-]{12,}/g, REDACTED],
  [
    /(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|xox[a-z]-|xapp-|ya29\.|SG\.|AIza)[\w.-]{10,}/g,
    REDACTED,
  ],
  [/(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}/g, REDACTED],
  // The addresses of webhooks and bots, which are their own passwords.
  [
    /(hooks\.slack\.com\/|discord(?:app)?\.com\/api\/webhooks\/|api\.telegram\.org\/bot)[\w/:-]{8,}/gi,
    `$1${REDACTED}`,
  ],
  [/\b(bearer|basic)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${REDACTED}`],
  // The user and the password of a URL, up to the last `@` before its path: a password can have one.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>]{1,1024}@/gi, `$1${REDACTED}@`],
]

/** Headers whose whole line is secret. */
const HEADER_LINE =
  /\b(authorization|proxy-authorization|cookie|set-cookie)(["']?\s{0,3}[:=]\s{0,3})[^\r\n"'{}]+/gi

/** Only a text with one of these can hold a secret with a known shape, so most texts are not looked through. */
const MAY_HOLD =
  /[=:{[>]|--|%3[ad]|eyJ|sk|pk|rk|gh|hub|glpat|npm_|hf_|xox|xapp|ya29|SG\.|AIza|AKIA|ASIA|ABIA|ACCA|bearer|basic|BEGIN|slack|discord|telegram/i

/** The text without the secrets that can be recognised, also in JSON inside it. */
export function redactText(text: string, nested = 0): string {
  if (!MAY_HOLD.test(text)) return text
  const inside = redactJsonText(text, nested)
  if (inside !== undefined) return inside
  let redacted = text
  for (const [pattern, replacement] of SHAPES) redacted = redacted.replace(pattern, replacement)
  redacted = redacted.replace(HEADER_LINE, (_all, name: string, sign: string) => `${name}${sign}${REDACTED}`)
  return withoutNamedSecrets(redacted)
}

/** The text if it is the JSON of an object or a list, without secrets. Undefined if it is not. */
function redactJsonText(text: string, nested: number): string | undefined {
  const trimmed = text.trimStart()
  if (!trimmed.startsWith('{') && !trimmed.startsWith('[')) return undefined
  const value = parsedJson(text)
  if (typeof value !== 'object' || value === null) return undefined
  if (nested >= NESTED_MAX) return REDACTED
  const redacted = redact(value as JsonValue, NOT_SENSITIVE, nested + 1)
  if (redacted !== value) return JSON.stringify(redacted)
  // Of two members with one name, only the last one was looked at, and the text has both.
  return scanJson(text, Infinity) ? REDACTED : text
}

/**
 * The value without secrets: values under names that look like secrets, texts with the shape of tokens, and what the schema marks
 * with `x-sensitive: true`. Returns the same object if it holds none.
 */
export function redact(
  value: JsonValue,
  marks: Sensitivity = NOT_SENSITIVE,
  nested = 0,
  depth = 0,
): JsonValue {
  if (isSensitive(marks)) return value === null ? null : REDACTED
  if (typeof value === 'string') return redactText(value, nested)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_MAX) return REDACTED
  if (Array.isArray(value)) return redactedList(value as readonly JsonValue[], marks, nested, depth)
  return redactedObject(value as JsonObject, marks, nested, depth)
}

function redactedList(
  list: readonly JsonValue[],
  marks: Sensitivity,
  nested: number,
  depth: number,
): readonly JsonValue[] {
  let isChanged = false
  const redacted = list.map((item, index) => {
    const kept = namesNext(list, index - 1)
      ? withoutSecret(item)
      : redact(item, marks.item(index), nested, depth + 1)
    isChanged ||= kept !== item
    return kept
  })
  return isChanged ? redacted : list
}

/** True if the item is the name of a secret that follows it: of headers `["Authorization", "…"]`, or of a command `["--password", "…"]`. */
function namesNext(list: readonly JsonValue[], index: number): boolean {
  const item = list[index]
  if (!isShortSecretName(item)) return false
  return item.startsWith('-') ? !item.includes('=') : list.length % 2 === 0 && index % 2 === 0
}

function isShortSecretName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length < 64 && isSecretName(value)
}

/** The members of an object that say what its value is, and those that have the value. */
const LABEL = /^(?:name|key|header|field|variable)$/i
const LABELLED = /^(?:value|val|content)$/i

function redactedObject(object: JsonObject, marks: Sensitivity, nested: number, depth: number): JsonObject {
  let isChanged = false
  const entries = Object.entries(object)
  // {"name": "Authorization", "value": "…"}
  const isSecretLabel = entries.some(([key, member]) => LABEL.test(key) && isShortSecretName(member))
  const members = entries.map(([key, member]): [string, JsonValue] => {
    const isSecret = isSecretName(key) || (isSecretLabel && LABELLED.test(key))
    const kept =
      isSecret && !(typeof member === 'number' && isCountName(key))
        ? withoutSecret(member)
        : redact(member, marks.property(key), nested, depth + 1)
    const safeKey = redactText(key, NESTED_MAX)
    isChanged ||= kept !== member || safeKey !== key
    return [safeKey, kept]
  })
  return isChanged ? Object.fromEntries(members) : object
}

/** What is under the name of a secret. Null, true and false tell nothing. */
function withoutSecret(value: JsonValue): JsonValue {
  return value === null || typeof value === 'boolean' || value === '' ? value : REDACTED
}

/** The UTF-16 code units of canonical JSON that a record has of the arguments of a call. */
const ARGUMENTS_LENGTH_MAX = 8 * 1024
/** A text in longer arguments is cut to this length. */
const CUT_LENGTH_MAX = 256

/**
 * The arguments as a record has them, and the sha256 of their canonical JSON. Secrets are replaced before the hash, because the hash of
 * a short secret could be guessed. Long arguments are cut after it.
 */
export function recordedArguments(args: JsonObject, marks: Sensitivity) {
  const redacted = redact(args, marks)
  const canonical = canonicalJson(redacted)
  const argumentsHash = `sha256:${createHash('sha256').update(canonical).digest('hex')}`
  if (canonical.length <= ARGUMENTS_LENGTH_MAX) return { arguments: redacted, argumentsHash }
  return { arguments: shortened(redacted, canonical.length), argumentsHash }
}

function shortened(value: JsonValue, length: number): JsonValue {
  const members = isJsonObject(value) ? Object.entries(value) : []
  const kept: Record<string, JsonValue> = {}
  let room = ARGUMENTS_LENGTH_MAX
  for (const [key, member] of members) {
    const text = typeof member === 'string' ? cut(member) : member
    room -= key.length + JSON.stringify(text).length
    if (room < 0) break
    kept[key] = text
  }
  return { ...kept, '[cut]': `the arguments have ${length} characters` }
}

function cut(text: string): string {
  return text.length <= CUT_LENGTH_MAX ? text : `${text.slice(0, CUT_LENGTH_MAX).toWellFormed()}[cut]`
}
