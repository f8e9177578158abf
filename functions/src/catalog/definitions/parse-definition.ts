import { isJsonObject, jsonPointer, type JsonValue, type ToolDefinition } from '@toolrack/contract'
import type { z } from 'zod'
import type { DefinitionFault } from './definition-fault.ts'
import { definitionSchemas } from './definition-schema.ts'
import { reshape, type Normalisation, type Reshaped } from './loose-shape.ts'

type ParsedDefinition =
  | {
      readonly definition: ToolDefinition
      readonly normalised: readonly Normalisation[]
      /** The JSON Pointer to the schema, in the JSON that was sent. */
      readonly schemaPointer: string
    }
  | { readonly faults: readonly DefinitionFault[] }

/** The only function that turns unknown JSON into a ToolDefinition. `admitSchema` checks the `parameters` afterwards. */
export async function parseDefinition(sent: JsonValue): Promise<ParsedDefinition> {
  const message = 'a definition must be a JSON object'
  if (!isJsonObject(sent)) return { faults: [{ reason: 'DEFINITION_INVALID', pointer: '', message }] }
  const { definition, normalised, locate } = reshape(sent)
  const { definitionSchema } = await definitionSchemas()
  const parsed = definitionSchema.safeParse(definition, { reportInput: true })
  if (!parsed.success) return { faults: parsed.error.issues.map((issue) => faultOf(issue, locate)) }
  const schemaPointer = jsonPointer(locate(['function', 'parameters']))
  return { definition: parsed.data as ToolDefinition, normalised, schemaPointer }
}

function faultOf(issue: z.core.$ZodIssue, locate: Reshaped['locate']): DefinitionFault {
  const isName = issue.code === 'custom' && issue.params?.['name'] === true
  const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const pointer = jsonPointer(locate([...issue.path, ...keys]))
  return { reason: isName ? 'NAME_INVALID' : 'DEFINITION_INVALID', pointer, message: messageOf(issue) }
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys' && issue.path[0] === 'onFailure') return ON_FAILURE_KEY
  if (issue.code === 'unrecognized_keys')
    return 'the key is not known here; known are type, function {name, description, parameters}, runner, category, tags, annotations, limits, onFailure and sealed'
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
  if (issue.code !== 'invalid_type') return issue.message
  const wanted = `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  return issue.input === undefined ? `is missing; it ${wanted}` : wanted
}

const ON_FAILURE_KEY =
  'the key is not known here; known are retry {times, backoffMs, timeoutFactor}, fallbackTools [{name, args}], ask and degraded, and at the top of onFailure the same keys below timeout, permission, network and generic'
