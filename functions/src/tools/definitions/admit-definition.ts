import type { Digest, JsonValue, ToolDefinition } from '@toolrack/contract'
import { definitionDigest } from '@toolrack/contract'
import { admitSchema } from '../schemas/admit-schema.ts'
import type { SchemaCompiler } from '../schemas/schema-checker.ts'
import type { Unenforced } from '../schemas/schema-fault.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { Normalisation } from './normalisation.ts'
import { parseDefinition } from './parse-definition.ts'

/** A definition that may be stored, as its JSON text, with what its author should know. */
export type AdmittedDefinition = {
  readonly definition: ToolDefinition
  readonly text: string
  readonly digest: Digest
  readonly normalised: readonly Normalisation[]
  readonly unenforced: readonly Unenforced[]
}

export type Admission = AdmittedDefinition | { readonly faults: readonly DefinitionFault[] }

/** From JSON of any shape to a definition that may be stored, or everything that is wrong with it. */
export async function admitDefinition(sent: JsonValue, checker: SchemaCompiler): Promise<Admission> {
  const parsed = await parseDefinition(sent)
  if ('faults' in parsed) return parsed
  const { schemaPointer } = parsed
  const { schema, changes, unenforced, faults } = await admitSchema(
    parsed.definition.function.parameters,
    checker,
  )
  if (faults.length > 0) {
    return {
      faults: faults.map(({ pointer, message }) => ({
        reason: 'SCHEMA_REJECTED',
        pointer: schemaPointer + pointer,
        message,
      })),
    }
  }
  const definition = { ...parsed.definition, function: { ...parsed.definition.function, parameters: schema } }
  return {
    definition,
    text: JSON.stringify(definition),
    digest: definitionDigest(definition),
    normalised: [
      ...parsed.normalised,
      ...changes.map((change) => ({ ...change, pointer: schemaPointer + change.pointer })),
    ],
    unenforced: unenforced.map(({ pointer, reason }) => ({ pointer: schemaPointer + pointer, reason })),
  }
}
