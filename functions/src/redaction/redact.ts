import { canonicalJson, isJsonObject, parsedJson, type JsonObject, type JsonValue } from '@toolrack/contract'
import { hash } from 'node:crypto'
import { scanJson } from '../json/scan-json.ts'
import { withoutListedSecret } from './command-secrets.ts'
import { REDACTED, type Removed } from './redacted.ts'
import { isCountName, isLabel, isLabelled, isSecretName } from './secret-names.ts'
import { isSensitive, NOT_SENSITIVE, type Sensitivity } from './sensitive.ts'
import { mayHoldSecret, TextRedactor } from './text-redactor.ts'

export { REDACTED } from './redacted.ts'

/**
 * A string can be JSON that again contains strings with JSON. This is the number of such levels that are read. On a deeper level,
 * a string that is the JSON of an object or a list is removed completely.
 */
const NESTED_MAX = 4

/**
 * How many levels of lists and objects are read. Deeper values are removed. Arguments have at most 32 levels, but JSON in a
 * string can have more.
 */
const DEPTH_MAX = 64

/** Removes recognized secrets from a text, also in JSON that the text contains. */
export function redactText(text: string, removed?: Removed): string {
  return new Redaction(removed).text(text, 0)
}

/** Makes a redactor for a text that arrives in whole lines. It does the same as `redactText`. */
export function textRedactor(): TextRedactor {
  return new Redaction().lines(0)
}

/**
 * Removes the secrets from a value: values under names of secrets, texts that look like tokens, and parts that the schema marks
 * as sensitive. Returns the same object if it contains no secrets.
 */
export function redact(value: JsonValue, marks: Sensitivity = NOT_SENSITIVE, removed?: Removed): JsonValue {
  return new Redaction(removed).value(value, marks, 0, 0)
}

/** One redaction. It reports each removed secret to `removed`. */
class Redaction {
  readonly #removed: Removed | undefined

  constructor(removed?: Removed) {
    this.#removed = removed
  }

  /** `nested` is the number of JSON texts in which the value is. `depth` is the number of lists and objects in which it is. */
  value(value: JsonValue, marks: Sensitivity, nested: number, depth: number): JsonValue {
    if (isSensitive(marks)) return value === null ? null : this.#whole(value)
    if (typeof value === 'string') return this.text(value, nested)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= DEPTH_MAX) return this.#whole(value)
    if (Array.isArray(value)) return this.#list(value as readonly JsonValue[], marks, nested, depth)
    return this.#object(value as JsonObject, marks, nested, depth)
  }

  text(text: string, nested: number): string {
    if (!mayHoldSecret(text)) return text
    return this.#json(text, nested) ?? this.lines(nested).take(text)
  }

  lines(nested: number): TextRedactor {
    return new TextRedactor((json) => this.#json(json, nested), this.#removed)
  }

  /** The text without secrets, if it is the JSON of an object or a list. Otherwise undefined. */
  #json(text: string, nested: number): string | undefined {
    if (!/^\s*[{[]/.test(text)) return undefined
    const value = parsedJson(text)
    if (typeof value !== 'object' || value === null) return undefined
    if (nested >= NESTED_MAX) return this.#whole(text)
    const redacted = this.value(value as JsonValue, NOT_SENSITIVE, nested + 1, 0)
    if (redacted !== value) return JSON.stringify(redacted)
    // If an object in the text has the same name twice, only the last member was checked. So the whole text is removed.
    return scanJson(text, Infinity) ? this.#whole(text) : text
  }

  #list(list: readonly JsonValue[], marks: Sensitivity, nested: number, depth: number): readonly JsonValue[] {
    let isChanged = false
    const redacted = list.map((item, index) => {
      const kept = this.#listed(list, index) ?? this.value(item, marks.item(index), nested, depth + 1)
      isChanged ||= kept !== item
      return kept
    })
    return isChanged ? redacted : list
  }

  /**
   * Redacts an item of a list if the item before it names a secret, as in headers (`["Authorization", "…"]`) or commands
   * (`["--password", "…"]`). Otherwise undefined.
   */
  #listed(list: readonly JsonValue[], index: number): JsonValue | undefined {
    const item = list[index] ?? null
    if (namesNext(list, index - 1)) return this.#secret(item)
    const shown = withoutListedSecret(list, index)
    if (shown === undefined || shown === item) return undefined
    if (typeof item === 'string') this.#removed?.(item.slice(shown.length - REDACTED.length))
    return shown
  }

  #object(object: JsonObject, marks: Sensitivity, nested: number, depth: number): JsonObject {
    let isChanged = false
    const entries = Object.entries(object)
    // The object is a name and a value in separate members, such as {"name": "Authorization", "value": "…"}.
    const isSecretLabel = entries.some(([key, member]) => isLabel(key) && isShortSecretName(member))
    const members = entries.map(([key, member]): [string, JsonValue] => {
      const isSecret = isSecretName(key) || (isSecretLabel && isLabelled(key))
      const kept =
        isSecret && !(typeof member === 'number' && isCountName(key))
          ? this.#secret(member)
          : this.value(member, marks.property(key), nested, depth + 1)
      const safeKey = this.text(key, NESTED_MAX)
      isChanged ||= kept !== member || safeKey !== key
      return [safeKey, kept]
    })
    return isChanged ? Object.fromEntries(members) : object
  }

  /** Removes the value that is under the name of a secret. Null, true, false and an empty text stay, because they reveal nothing. */
  #secret(value: JsonValue): JsonValue {
    return value === null || typeof value === 'boolean' || value === '' ? value : this.#whole(value)
  }

  #whole(value: JsonValue): string {
    if (this.#removed) for (const text of textsIn(value)) this.#removed(text)
    return REDACTED
  }
}

/** All texts and numbers in a value. */
function textsIn(value: JsonValue): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** True if the item at `index` is a name, and the next item is its secret. */
function namesNext(list: readonly JsonValue[], index: number): boolean {
  const item = list[index]
  if (!isShortSecretName(item)) return false
  return item.startsWith('-') ? !item.includes('=') : list.length % 2 === 0 && index % 2 === 0
}

function isShortSecretName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length < 64 && isSecretName(value)
}

/**
 * The most UTF-16 code units of a call's arguments in a record, as canonical JSON. If they are longer, the record also gets a
 * hash of them.
 */
const ARGUMENTS_LENGTH_MAX = 8 * 1024
/** If the arguments are too long, each of their texts is cut to this many UTF-16 code units, so that the record stays small. */
const CUT_LENGTH_MAX = 256

/**
 * The arguments for a record, and the sha256 of their canonical JSON. Secrets are replaced before the hash is computed, because a
 * short secret could be guessed from a hash. Long arguments are cut after the hash is computed.
 */
export function recordedArguments(args: JsonObject, marks: Sensitivity) {
  const redacted = redact(args, marks)
  const canonical = canonicalJson(redacted)
  const argumentsHash = `sha256:${hash('sha256', canonical)}`
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
