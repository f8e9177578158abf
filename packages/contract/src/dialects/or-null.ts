import type { JsonObject, JsonValue } from '../json.ts'
import { typesOf } from './types-of.ts'

/** The schema that also admits null: by its type where that is enough, else as an alternative. The description stays outside. */
export function orNull(schema: JsonObject): JsonObject {
  const { enum: values, const: value, description } = schema
  const types = typesOf(schema)
  const isScalar = types.length > 0 && !types.includes('object') && !types.includes('array')
  if (isScalar && value === undefined) {
    const withNull = Array.isArray(values) && { enum: [...(values as readonly JsonValue[]), null] }
    return { ...schema, type: [...types, 'null'], ...withNull }
  }
  if (Array.isArray(schema['anyOf']))
    return { ...schema, anyOf: [...(schema['anyOf'] as readonly JsonValue[]), { type: 'null' }] }
  const { description: _description, ...inner } = schema
  return { anyOf: [inner, { type: 'null' }], ...(description !== undefined && { description }) }
}
