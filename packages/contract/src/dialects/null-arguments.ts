import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { referencedSchema, typesOf } from '../schema-keywords.ts'

/**
 * Whether a schema may allow null. False only if it certainly refuses null. `root` is the schema in which each `$ref` is looked
 * up. References must not be recursive.
 */
export function allowsNull(schema: JsonValue, root: JsonObject): boolean {
  if (!isJsonObject(schema)) return schema !== false
  const { type, nullable, enum: values, const: value, anyOf, $ref: ref } = schema
  if (type !== undefined && !typesOf(schema).includes('null')) return nullable === true
  if (isJsonArray(values) && !values.includes(null)) return false
  if (value !== undefined && value !== null) return false
  if (isJsonArray(anyOf) && !anyOf.some((one) => allowsNull(one, root))) return false
  if (ref === undefined) return true
  const target = referencedSchema(root, ref)
  return target === undefined || target === schema || allowsNull(target, root)
}

/**
 * Makes a schema allow null as well: by its `type` if possible, otherwise by `anyOf`. The description stays outside of `anyOf`.
 */
export function withNull(schema: JsonObject): JsonObject {
  const { enum: values, const: value, anyOf } = schema
  const types = typesOf(schema)
  const isScalar = types.length > 0 && !types.includes('object') && !types.includes('array')
  if (isScalar && value === undefined) {
    const enumWithNull = isJsonArray(values) && { enum: [...values, null] }
    return { ...schema, type: [...types, 'null'], ...enumWithNull }
  }
  if (isJsonArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  const { description, ...inner } = schema
  return { anyOf: [inner, { type: 'null' }], ...(description !== undefined && { description }) }
}

/**
 * Removes each argument that is null and means "omitted" (see `CallFormat.nullMeansOmitted`). Null stays if the argument is
 * required, is not declared, or may be null. Returns the same object if nothing is removed.
 */
export function dropOmittedArguments(parameters: JsonObject, args: JsonObject): JsonObject {
  // Each part of the schema is read only once, because a list can have many values with the same schema.
  const mayBeNull = once((schema: JsonValue) => allowsNull(schema, parameters))
  const resolved = once((schema: JsonObject) => {
    const { $ref: ref } = schema
    return ref === undefined ? schema : referencedSchema(parameters, ref)
  })
  const requiredBy = once(({ required }: JsonObject) => new Set(isJsonArray(required) ? required : []))

  function clean(value: JsonValue, described: JsonValue | undefined): JsonValue {
    const schema = isJsonObject(described) ? resolved(described) : undefined
    if (!schema || typeof value !== 'object' || value === null) return value
    if (isJsonObject(value)) return cleanObject(value, schema)
    const cleaned = value.map((element) => clean(element, schema['items']))
    return cleaned.some((element, index) => element !== value[index]) ? cleaned : value
  }

  function cleanObject(value: JsonObject, schema: JsonObject): JsonObject {
    const { properties } = schema
    const required = requiredBy(schema)
    const entries = Object.entries(value)
    const kept = entries.flatMap(([key, member]): [string, JsonValue][] => {
      const isDeclared = isJsonObject(properties) && Object.hasOwn(properties, key)
      const described = isDeclared ? properties[key] : undefined
      const isOmitted =
        member === null && described !== undefined && !required.has(key) && !mayBeNull(described)
      return isOmitted ? [] : [[key, clean(member, described)]]
    })
    const isSame = kept.length === entries.length && kept.every(([key, member]) => member === value[key])
    return isSame ? value : Object.fromEntries(kept)
  }

  return cleanObject(args, parameters)
}

/** Returns a function that calls `find` only once for each schema. */
function once<Schema, Found>(find: (schema: Schema) => Found): (schema: Schema) => Found {
  const known = new Map<Schema, Found>()
  return (schema) => {
    if (!known.has(schema)) known.set(schema, find(schema))
    return known.get(schema) as Found
  }
}
