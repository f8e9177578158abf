import type { JsonObject, JsonValue } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { mapSubschemas } from '../schema-keywords.ts'

/** Below these a vendor knows `true` and `false`. */
const MAY_BE_BOOLEAN = new Set(['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'])

/**
 * The same schema with `{}` for each `true` and `{"not":{}}` for each `false`: vendors want an object wherever a schema
 * stands. The same object where nothing is one of them.
 */
export function objectSchemas(schema: JsonObject): JsonObject {
  return mapSubschemas(schema, (child, [keyword]) => {
    if (isJsonObject(child)) return objectSchemas(child)
    return MAY_BE_BOOLEAN.has(String(keyword)) ? child : anyOrNone(child)
  })
}

function anyOrNone(schema: JsonValue): JsonObject {
  return schema === true ? {} : { not: {} }
}
