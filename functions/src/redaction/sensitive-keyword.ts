import { subschemas, type JsonObject, type SchemaPath } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../json/json-fault.ts'

/** Marks a value that must not be recorded. */
export const SENSITIVE = 'x-sensitive'

const MESSAGE = `${SENSITIVE} must be true or false; with another value nobody knows whether the value is a secret`

/**
 * A fault for each schema in which `x-sensitive` is not true or false. Recursive, so the depth of the schema must be checked
 * first.
 */
export function sensitiveFaults(schema: JsonObject, path: SchemaPath = []): readonly JsonFault[] {
  const mark = schema[SENSITIVE]
  const own = mark === undefined || typeof mark === 'boolean' ? [] : [faultAt([...path, SENSITIVE], MESSAGE)]
  const below = subschemas(schema).flatMap((child) => sensitiveFaults(child.schema, [...path, ...child.path]))
  return [...own, ...below]
}
