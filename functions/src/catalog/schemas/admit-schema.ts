import type { JsonObject, JsonValue, SchemaPath } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../../json/json-fault.ts'
import type { CompileReport } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import type { SchemaCompiler } from './schema-compilers.ts'
import { sensitiveFaults } from '../../redaction/sensitive-keyword.ts'
import { normaliseTypeNames, type TypeChange } from './type-names.ts'

// Each of the following limits stops one known attack on validators.
/** The most bytes of a schema as JSON. The time to compile it grows with its size. */
const BYTES_MAX = 32 * 1024
/** The most levels of objects and arrays. The root is level 1. Code that visits the schema later needs stack for each. */
const DEPTH_MAX = 32
/** The most JSON values of a schema. The time and memory to compile it grow with their number. */
const VALUES_MAX = 2_000
/** The most characters of the JSON Pointer to a value. An answer repeats the pointer of each fault. */
const POINTER_MAX = 1_024

export type SchemaAdmission = CompileReport & {
  /** The schema that is stored. It is the author's schema, but foreign type names are replaced by those of JSON Schema. */
  readonly schema: JsonObject
  readonly changes: readonly TypeChange[]
}

/** Decides whether a tool's `parameters` may be stored. Compiles a schema only if `measureSchema` finds no fault. */
export async function admitSchema(sent: JsonObject, compiler: SchemaCompiler): Promise<SchemaAdmission> {
  const fault = measureSchema(sent)
  if (fault) return { schema: sent, changes: [], unenforced: [], faults: [fault] }
  const unmarked = sensitiveFaults(sent)
  if (unmarked.length > 0) return { schema: sent, changes: [], unenforced: [], faults: unmarked }
  const { schema, changes } = normaliseTypeNames(sent)
  const { type = 'object' } = schema
  if (type === 'object') return { schema, changes, ...(await compiler.compile(schema)) }
  const message = 'the root of parameters must be of type object: a tool takes named arguments'
  return { schema, changes, unenforced: [], faults: [faultAt(['type'], message)] }
}

/**
 * Makes the checks for which the schema need not be compiled: size, depth, number of values, length of pointers, integers and
 * references. Returns the first fault.
 */
export function measureSchema(schema: JsonObject): JsonFault | undefined {
  return treeFault(schema) ?? sizeFault(schema) ?? expandedWeight(schema).fault
}

type Visit = readonly [value: JsonValue, path: readonly string[]]

/** Checks each value. Uses a stack instead of recursion, because the schema may be nested too deeply. */
function treeFault(schema: JsonObject): JsonFault | undefined {
  const stack: Visit[] = [[schema, []]]
  let values = 0
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    const [value, path] = visit
    values += 1
    if (values > VALUES_MAX)
      return faultAt([], `the schema has more than ${VALUES_MAX} values; split the tool or simplify it`)
    const fault = placeFault(path) ?? integerFault(value, path)
    if (fault) return fault
    if (typeof value !== 'object' || value === null) continue
    if (path.length >= DEPTH_MAX)
      return faultAt(path, `the schema is nested deeper than ${DEPTH_MAX} levels; flatten it`)
    for (const [key, child] of Object.entries(value).toReversed()) stack.push([child, [...path, key]])
  }
  return undefined
}

function placeFault(path: readonly string[]): JsonFault | undefined {
  const length = path.reduce((sum, key) => sum + 1 + key.length, 0)
  if (length <= POINTER_MAX) return undefined
  const message = `the JSON Pointer to a value in it is longer than ${POINTER_MAX} characters; use shorter names, or nest less`
  return faultAt(path.slice(0, -1), message)
}

function integerFault(value: JsonValue, path: SchemaPath): JsonFault | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) return undefined
  return faultAt(path, 'the integer is beyond 2^53 and would change when read; use a smaller one')
}

function sizeFault(schema: JsonObject): JsonFault | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes <= BYTES_MAX) return undefined
  return faultAt([], `the schema is ${bytes} bytes; at most ${BYTES_MAX} are allowed`)
}
