/** Any value that JSON can represent. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. Its keys stay in the order in which they were written. */
export type JsonObject = { readonly [key: string]: JsonValue }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** Parses a JSON text. Returns undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True if the value contains an integer that JavaScript rounds: above 2^53 - 1 or below -(2^53 - 1). */
export function holdsLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsLargeInteger)
}

/**
 * The canonical JSON text of a value (RFC 8785). Keys are sorted by UTF-16 code unit, there is no white space, and numbers and
 * strings are written as in ECMAScript. Equal values have the same text in every language that follows the RFC. The function is
 * recursive, so check the depth of the value first.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value as JsonObject)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}

/** The JSON Pointer (RFC 6901) of a path: `['a/b', 0]` becomes `/a~1b/0`. The pointer of the root is the empty string. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The keys of a JSON Pointer, or undefined if the text is not a JSON Pointer. */
export function pointerKeys(pointer: string): string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  const keys = pointer.slice(1).split('/')
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The value at a path of keys, or undefined if there is no such value. */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as JsonObject)[key]
  }
  return found
}
