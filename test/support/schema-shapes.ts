import type { JsonObject } from '@toolrack/contract'

/** A schema whose objects are nested `depth` levels, the root counted; made without recursion. */
export function nestedSchema(depth: number): JsonObject {
  let schema: JsonObject = {}
  for (let level = 1; level < depth; level += 1) schema = { not: schema }
  return schema
}

/** Each definition holds the next one twice: written out it has 2^n leaves, and its text is short. */
export function doublingBomb(n: number): JsonObject {
  const pairs = Array.from({ length: n }, (_, level) => {
    const next = { $ref: `#/$defs/d${level + 1}` }
    return [`d${level}`, { properties: { a: next, b: next } }]
  })
  return { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(pairs), [`d${n}`]: { type: 'string' } } }
}

/** Inside every limit but the time it takes to compile: RE2 folds the case of half of Unicode 1,500 times. */
export function slowSchema(): JsonObject {
  const prefixItems = Array.from({ length: 300 }, (_, index) => ({
    pattern: `(?i)\\PL\\PL\\PL\\PL\\PL${index}`,
  }))
  return { type: 'object', properties: { list: { type: 'array', prefixItems } } }
}

/** Inside every limit but the memory it takes to compile: RE2 writes out 100 repetitions a thousandfold each, three times. */
export function greedySchema(): JsonObject {
  const allOf = Array.from({ length: 3 }, (_, index) => ({ pattern: 'x{0,1000}'.repeat(100) + index }))
  return { type: 'object', properties: { text: { type: 'string', allOf } }, required: ['text'] }
}
