import type { JsonObject, JsonValue } from '@toolrack/contract'
import { jsonPointer } from '@toolrack/contract'
import { expandedWeightFault } from './expanded-weight.ts'
import type { SchemaFault } from './schema-fault.ts'
import { SCHEMA_LIMITS } from './schema-limits.ts'

/** Checks everything about a schema that needs no validator: size, depth, node count, integers, references. */
export function measureSchema(schema: JsonObject): SchemaFault | undefined {
  return treeFault(schema) ?? sizeFault(schema) ?? expandedWeightFault(schema)
}

type Visit = {
  readonly value: JsonValue
  readonly path: readonly (string | number)[]
  readonly pointerLength: number
}

/** Walks with a stack of its own: a schema of any depth is measured, never recursed into. */
function treeFault(schema: JsonObject): SchemaFault | undefined {
  const stack: Visit[] = [{ value: schema, path: [], pointerLength: 0 }]
  let nodes = 0
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    const { value, path, pointerLength } = visit
    nodes += 1
    if (nodes > SCHEMA_LIMITS.nodesMax) {
      return {
        pointer: '',
        message: `the schema has more than ${SCHEMA_LIMITS.nodesMax} values; split the tool or simplify it`,
      }
    }
    if (pointerLength > SCHEMA_LIMITS.pointerMax) {
      return {
        pointer: jsonPointer(path.slice(0, -1)),
        message: `the JSON Pointer to a value in it is longer than ${SCHEMA_LIMITS.pointerMax} characters; use shorter names, or nest less`,
      }
    }
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return {
        pointer: jsonPointer(path),
        message: 'the integer is beyond 2^53 and would change when read; use a smaller one',
      }
    }
    if (typeof value !== 'object' || value === null) continue
    if (path.length >= SCHEMA_LIMITS.depthMax) {
      const pointer = jsonPointer(path.slice(0, SCHEMA_LIMITS.depthMax))
      return {
        pointer,
        message: `the schema is nested deeper than ${SCHEMA_LIMITS.depthMax} levels; flatten it`,
      }
    }
    for (const [key, child] of Object.entries(value).toReversed())
      stack.push({ value: child, path: [...path, key], pointerLength: pointerLength + 1 + key.length })
  }
  return undefined
}

function sizeFault(schema: JsonObject): SchemaFault | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes <= SCHEMA_LIMITS.bytesMax) return undefined
  return {
    pointer: '',
    message: `the schema is ${bytes} bytes; at most ${SCHEMA_LIMITS.bytesMax} are allowed`,
  }
}
