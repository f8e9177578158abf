import type { JsonValue, ToolDefinition } from '@toolrack/contract'
import { isJsonObject, jsonPointer } from '@toolrack/contract'
import type { z } from 'zod'
import type { DefinitionFault } from './definition-fault.ts'
import { definitionSchemas } from './definition-schema.ts'
import { reshape } from './loose-shape.ts'
import type { Normalisation } from './normalisation.ts'

export type ParsedDefinition =
  | {
      readonly definition: ToolDefinition
      readonly normalised: readonly Normalisation[]
      /** Where the schema stood in what was sent. */
      readonly schemaPointer: string
    }
  | { readonly faults: readonly DefinitionFault[] }

/** The one place where unknown JSON becomes a ToolDefinition. The schema in it is admitted afterwards. */
export async function parseDefinition(sent: JsonValue): Promise<ParsedDefinition> {
  if (!isJsonObject(sent)) {
    return {
      faults: [{ reason: 'DEFINITION_INVALID', pointer: '', message: 'a definition must be a JSON object' }],
    }
  }
  const { definition, normalised, locate } = reshape(sent)
  const { definitionSchema } = await definitionSchemas()
  const parsed = definitionSchema.safeParse(definition, { reportInput: true })
  if (!parsed.success) return { faults: parsed.error.issues.map((issue) => faultOf(issue, locate)) }
  const schemaPointer = jsonPointer(locate(['function', 'parameters']))
  return { definition: parsed.data as ToolDefinition, normalised, schemaPointer }
}

type Locate = (path: readonly PropertyKey[]) => readonly PropertyKey[]

function faultOf(issue: z.core.$ZodIssue, locate: Locate): DefinitionFault {
  const isName = issue.code === 'custom' && issue.params?.['name'] === true
  const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const pointer = jsonPointer(locate([...issue.path, ...keys]))
  return { reason: isName ? 'NAME_INVALID' : 'DEFINITION_INVALID', pointer, message: sentence(issue) }
}

function sentence(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return 'the key is not known here; known are type, function {name, description, parameters}, runner, category, tags, annotations, limits and sealed'
  }
  if (issue.code === 'invalid_type')
    return issue.input === undefined
      ? `is missing; it must be ${an(issue.expected)}`
      : `must be ${an(issue.expected)}`
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
  return issue.message
}

function an(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
