import type { JsonValue } from './json.ts'

/** A JSON Pointer (RFC 6901) for a path of keys and indices: `['a/b', 0]` is `/a~1b/0`, the root is the empty string. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The keys of a JSON Pointer, or undefined when the text is not one. */
export function pointerKeys(pointer: string): string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** What lies below a value under these keys, one after the other; undefined where nothing does. */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  return keys.reduce<JsonValue | undefined>(step, value)
}

function step(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as { readonly [key: string]: JsonValue })[key]
}
