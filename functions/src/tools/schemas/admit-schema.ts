import type { JsonObject } from '@toolrack/contract'
import { measureSchema } from './measure-schema.ts'
import type { SchemaCompiler } from './schema-checker.ts'
import type { SchemaFault, Unenforced } from './schema-fault.ts'
import { normaliseTypeNames } from './type-names.ts'
import type { TypeChange } from './type-names.ts'

export type SchemaAdmission = {
  /** The schema to store: the author's own, with foreign type names turned into JSON Schema's. */
  readonly schema: JsonObject
  readonly changes: readonly TypeChange[]
  readonly unenforced: readonly Unenforced[]
  readonly faults: readonly SchemaFault[]
}

/** Decides whether a tool's `parameters` may be stored. Cheap limits first; only what passes them is compiled. */
export async function admitSchema(sent: JsonObject, checker: SchemaCompiler): Promise<SchemaAdmission> {
  const refused = measureSchema(sent)
  if (refused) return { schema: sent, changes: [], unenforced: [], faults: [refused] }
  const { schema, changes } = normaliseTypeNames(sent)
  const root = schema['type']
  if (root !== undefined && root !== 'object') {
    const message = 'the root of parameters must be of type object: a tool takes named arguments'
    return { schema, changes, unenforced: [], faults: [{ pointer: '/type', message }] }
  }
  const { faults, unenforced } = await checker.compile(schema)
  return { schema, changes, unenforced, faults }
}
