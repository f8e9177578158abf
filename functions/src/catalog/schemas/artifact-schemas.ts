import {
  isJsonArray,
  isJsonObject,
  referencedSchema,
  type JsonObject,
  type JsonValue,
} from '@toolrack/contract'

/** The value of `format` in the schema of an argument that names an artifact. */
const FORMAT = 'artifact'

/** True if a schema with this text can have an argument that names an artifact. Most schemas have none, and are not parsed. */
export function mayNameArtifacts(schemaText: string): boolean {
  return schemaText.includes(`"${FORMAT}"`)
}

/**
 * Those schemas of a tool's `parameters` that lead to an argument which names an artifact. Other schemas are not here, so arguments
 * are visited only where an artifact can be. A schema has at most 2,000 values, and is visited once, so this takes a few
 * milliseconds at most.
 */
export class ArtifactSchemas {
  readonly #root: JsonObject
  readonly #leading: ReadonlySet<JsonObject>
  /** The leading schemas for the same value. */
  readonly #same = new Map<JsonObject, readonly JsonObject[]>()
  /** The leading schemas that lead to an artifact inside the value. */
  readonly #containing: ReadonlySet<JsonObject>

  constructor(root: JsonObject) {
    this.#root = root
    const above = new Map<JsonObject, JsonObject[]>([[root, []]])
    // A set and a map also iterate over what is added meanwhile.
    for (const [schema] of above) {
      const same = sameValueSchemas(schema, root)
      this.#same.set(schema, same)
      for (const below of [...same, ...containedSchemas(schema)]) {
        const known = above.get(below)
        if (known) known.push(schema)
        else above.set(below, [schema])
      }
    }
    const leading = new Set([...above.keys()].filter(({ format }) => format === FORMAT))
    for (const schema of leading) for (const one of above.get(schema) ?? []) leading.add(one)
    this.#leading = leading
    for (const [schema, same] of this.#same)
      this.#same.set(
        schema,
        same.filter((one) => leading.has(one)),
      )
    this.#containing = new Set(
      [...leading].filter((schema) => containedSchemas(schema).some((one) => leading.has(one))),
    )
  }

  /** The schema of all arguments. Undefined if no argument can name an artifact. */
  get root(): JsonObject | undefined {
    return this.#leading.has(this.#root) ? this.#root : undefined
  }

  /** The leading schemas that are for the same value as a leading schema, such as those of `allOf`. */
  sameValue(schema: JsonObject): readonly JsonObject[] {
    return this.#same.get(schema) ?? []
  }

  namesArtifact({ format }: JsonObject): boolean {
    return format === FORMAT
  }

  /** True if an element or a member of the value can lead to an artifact. */
  contains(schema: JsonObject): boolean {
    return this.#containing.has(schema)
  }

  /** The leading schema of an element of an array, or of a member of an object. */
  inside(schema: JsonObject, key: number | string): JsonObject | undefined {
    const found = typeof key === 'number' ? itemSchema(schema, key) : memberSchema(schema, key)
    return isJsonObject(found) && this.#leading.has(found) ? found : undefined
  }
}

/** The schemas directly below a schema that are for the same value. `then` and `else` say nothing without `if`. */
function sameValueSchemas(schema: JsonObject, root: JsonObject): readonly JsonObject[] {
  const { allOf, anyOf, oneOf, if: condition, then, else: otherwise, $ref: ref } = schema
  const { dependentSchemas, dependencies } = schema
  const dependent = [dependentSchemas, dependencies].filter(isSchema).flatMap(Object.values<JsonValue>)
  const lists = [allOf, anyOf, oneOf].flatMap((list) => (isJsonArray(list) ? list : []))
  const conditional = condition === undefined ? [] : [then, otherwise]
  const referenced = ref === undefined ? undefined : referencedSchema(root, ref)
  return [...lists, ...conditional, ...dependent, referenced].filter(isSchema)
}

/** The schemas directly below a schema that `itemSchema` and `memberSchema` can return. */
function containedSchemas(schema: JsonObject): readonly JsonObject[] {
  const { properties, additionalProperties, prefixItems, items } = schema
  const named = isJsonObject(properties) ? Object.values<JsonValue>(properties) : []
  const listed = [prefixItems, items].flatMap((list) => (isJsonArray(list) ? list : []))
  return [...named, additionalProperties, ...listed, items].filter(isSchema)
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value)
}

function itemSchema({ prefixItems, items }: JsonObject, at: number): JsonValue | undefined {
  const prefix = isJsonArray(prefixItems) ? prefixItems : isJsonArray(items) ? items : []
  return prefix[at] ?? items
}

function memberSchema({ properties, additionalProperties }: JsonObject, name: string): JsonValue | undefined {
  const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  return own ?? additionalProperties
}
