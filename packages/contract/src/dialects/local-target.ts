import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { pointerKeys, valueAt } from '../json-pointer.ts'

/** The schema that a local `$ref` leads to; undefined where it leads to none. */
export function localTarget(root: JsonObject, ref: JsonValue): JsonObject | undefined {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
  const keys = pointerKeys(decoded(ref.slice(1)))
  const found = keys && valueAt(root, keys)
  return isJsonObject(found) ? found : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
