import type { JsonObject, JsonValue } from '../json.ts'

/** The types that a schema names, which may be one, several, or none. */
export function typesOf({ type }: JsonObject): readonly JsonValue[] {
  if (type === undefined) return []
  return Array.isArray(type) ? (type as readonly JsonValue[]) : [type]
}
