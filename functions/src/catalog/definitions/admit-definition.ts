import { definitionDigest, type Digest, type JsonValue, type ToolDefinition } from '@toolrack/contract'
import { admitSchema } from '../schemas/admit-schema.ts'
import type { Unenforced } from '../schemas/enforceable-schema.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { Normalisation } from './loose-shape.ts'
import { parseDefinition } from './parse-definition.ts'

/** A definition that may be stored, with its JSON text, and with notes for its author. */
export type AdmittedDefinition = {
  readonly definition: ToolDefinition
  readonly text: string
  readonly digest: Digest
  readonly normalised: readonly Normalisation[]
  readonly unenforced: readonly Unenforced[]
}

export type Admission = AdmittedDefinition | { readonly faults: readonly DefinitionFault[] }

/** Turns JSON of any shape into a definition that may be stored, or reports its faults. */
export async function admitDefinition(sent: JsonValue, compiler: SchemaCompiler): Promise<Admission> {
  const parsed = await parseDefinition(sent)
  if ('faults' in parsed) return parsed
  const { schemaPointer } = parsed
  const admission = await admitSchema(parsed.definition.function.parameters, compiler)

  function inSent<Note extends { readonly pointer: string }>(notes: readonly Note[]): Note[] {
    return notes.map((note) => ({ ...note, pointer: schemaPointer + note.pointer }))
  }

  if (admission.faults.length > 0)
    return { faults: inSent(admission.faults).map((fault) => ({ reason: 'SCHEMA_REJECTED', ...fault })) }
  const fn = { ...parsed.definition.function, parameters: admission.schema }
  const definition = { ...parsed.definition, function: fn }
  return {
    definition,
    text: JSON.stringify(definition),
    digest: definitionDigest(definition),
    normalised: [...parsed.normalised, ...inSent(admission.changes)],
    unenforced: inSent(admission.unenforced),
  }
}
