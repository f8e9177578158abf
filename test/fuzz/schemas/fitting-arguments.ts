import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, valueAt } from '@toolrack/contract'

const DEPTH_MAX = 6

/** Arguments that have a chance to fit: of random ones hardly any get beyond the first type. `choices` decide, one after the other. */
export function argumentsFor(parameters: JsonObject, choices: readonly number[]): JsonObject {
  let next = 0
  const pick = (of: number): number =>
    ((choices[next++ % Math.max(1, choices.length)] ?? 0) + next) % Math.max(1, of)

  function objectFor(schema: JsonObject, depth: number): JsonObject {
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
    const required = Array.isArray(schema['required']) ? (schema['required'] as readonly JsonValue[]) : []
    const known = Object.entries<JsonValue>(properties).filter(
      ([name]) => required.includes(name) || pick(3) > 0,
    )
    const unknown = required.filter(
      (name): name is string => typeof name === 'string' && !(name in properties),
    )
    const more = pick(4) === 0 ? ['extra'] : []
    return Object.fromEntries([
      ...known.map(([name, below]) => [name, valueFor(below, depth + 1)] as const),
      ...[...unknown, ...more].map(
        (name) => [name, valueFor(schema['additionalProperties'] ?? true, depth + 1)] as const,
      ),
    ])
  }

  function valueFor(schema: JsonValue, depth: number): JsonValue {
    if (!isJsonObject(schema) || depth > DEPTH_MAX) return anything(pick(8))
    const { $ref: ref, const: only, enum: choicesOf, anyOf, oneOf, allOf, prefixItems, items } = schema
    if (only !== undefined && pick(8) > 0) return only
    if (Array.isArray(choicesOf) && choicesOf.length > 0)
      return choicesOf[pick(choicesOf.length)] as JsonValue
    if (typeof ref === 'string' && ref.startsWith('#/'))
      return valueFor(valueAt(parameters, ref.slice(2).split('/')) ?? true, depth + 1)
    for (const branches of [anyOf, oneOf, allOf])
      if (Array.isArray(branches) && branches.length > 0)
        return valueFor(branches[pick(branches.length)] as JsonValue, depth + 1)
    const { type } = schema
    const types: readonly JsonValue[] = Array.isArray(type)
      ? (type as readonly JsonValue[])
      : type === undefined
        ? []
        : [type]
    const wanted =
      types.length === 0
        ? schema['properties']
          ? 'object'
          : items === undefined
            ? undefined
            : 'array'
        : types[pick(types.length)]
    if (wanted === 'object') return objectFor(schema, depth)
    if (wanted === 'array') {
      const first = Array.isArray(prefixItems) ? (prefixItems as readonly JsonValue[]) : []
      return Array.from({ length: pick(4) }, (_, index) => valueFor(first[index] ?? items ?? true, depth + 1))
    }
    if (wanted === 'string') return ['', 'a', 'ab', 'xxx', 'é', '\u{1F600}', 'b'][pick(7)] ?? ''
    if (wanted === 'integer') return pick(5) - 1
    if (wanted === 'number') return [0, -0, 0.5, 1.5, 0.30000000000000004, 1e21][pick(6)] ?? 0
    if (wanted === 'boolean') return pick(2) === 0
    return wanted === 'null' ? null : anything(pick(8))
  }

  return objectFor(parameters, 0)
}

function anything(index: number): JsonValue {
  return [null, true, 1, 'a', [1, 1], { a: 1 }, [], ''][index] ?? {}
}
