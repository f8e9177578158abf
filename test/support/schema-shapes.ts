import type { JsonObject } from '@toolrack/contract'

/** A schema of `depth` nested levels, including the root. It is made without recursion. */
export function nestedSchema(depth: number): JsonObject {
  let schema: JsonObject = {}
  for (let level = 1; level < depth; level += 1) schema = { not: schema }
  return schema
}

/** A short schema in which each definition refers twice to the next one. With references replaced it has 2^n leaves. */
export function doublingBomb(n: number): JsonObject {
  const pairs = Array.from({ length: n }, (_, level) => {
    const next = { $ref: `#/$defs/d${level + 1}` }
    return [`d${level}`, { properties: { a: next, b: next } }]
  })
  return { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(pairs), [`d${n}`]: { type: 'string' } } }
}

/** A schema that exceeds only the limit of compile time: RE2 folds the case of half of Unicode 1,500 times. */
export function slowSchema(): JsonObject {
  const prefixItems = Array.from({ length: 300 }, (_, index) => ({
    pattern: `(?i)\\PL\\PL\\PL\\PL\\PL${index}`,
  }))
  return { type: 'object', properties: { list: { type: 'array', prefixItems } } }
}

/** A schema that exceeds only the limit of compile memory: RE2 expands 3 patterns of 100 repetitions to 1,000 copies each. */
export function greedySchema(): JsonObject {
  const allOf = Array.from({ length: 3 }, (_, index) => ({ pattern: 'x{0,1000}'.repeat(100) + index }))
  return { type: 'object', properties: { text: { type: 'string', allOf } }, required: ['text'] }
}
