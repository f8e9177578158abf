import { isJsonObject, toolNameFault, type JsonObject, type JsonValue } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../../json/json-fault.ts'
import { measureSchema } from '../../catalog/schemas/admit-schema.ts'
import { AGENT_TOOLS_MAX, type Agent } from './agent.ts'

/** The most characters of an agent's name. The id of its document is made of the name. */
const NAME_LENGTH_MAX = 200
/** The most characters of a description. People and models read no more. */
const DESCRIPTION_LENGTH_MAX = 4_000
/** The most characters of the name of a workflow, as for `TOOLRACK_DEFAULT_WORKFLOW`. */
const WORKFLOW_NAME_LENGTH_MAX = 256
/** The most levels of an input schema, because a document of Firestore has at most 20 levels. */
const SCHEMA_LEVELS_MAX = 16

/** The fields of an agent that a request or a file can set. */
export type AgentFields = Partial<
  Pick<Agent, 'name' | 'description' | 'workflowName' | 'tools' | 'inputSchema'>
>

export type CheckedFields = { readonly fields: AgentFields } | { readonly fault: JsonFault }

/**
 * Reads the fields of an agent. As in the original service, which Toolrack replaces, null counts as not sent, and unknown fields
 * are ignored.
 */
export function checkAgent(sent: JsonObject): CheckedFields {
  const { name, description, workflowName, tools, inputSchema } = sent
  const fault =
    textFault('name', name, NAME_LENGTH_MAX) ??
    textFault('description', description, DESCRIPTION_LENGTH_MAX) ??
    textFault('workflowName', workflowName, WORKFLOW_NAME_LENGTH_MAX) ??
    (isText(name) && name.trim() === '' ? faultAt(['name'], 'it is empty; give the agent a name') : undefined)
  if (fault) return { fault }
  const names = isSent(tools) ? checkToolNames(tools) : undefined
  if (names && 'fault' in names) return names
  const schemaFault = isSent(inputSchema) ? inputSchemaFault(inputSchema) : undefined
  if (schemaFault) return { fault: schemaFault }
  return {
    fields: {
      ...(isText(name) && { name: name.trim() }),
      ...(isText(description) && { description }),
      ...(isText(workflowName) && { workflowName: workflowName.trim() }),
      ...(names && { tools: names.names }),
      ...(isJsonObject(inputSchema) && { inputSchema }),
    },
  }
}

type ToolNames = { readonly names: readonly string[] } | { readonly fault: JsonFault }

/** Reads one name or a list of names, without duplicates and blank entries. */
export function checkToolNames(sent: JsonValue | undefined): ToolNames {
  const entries: readonly (JsonValue | undefined)[] = Array.isArray(sent) ? sent : [sent]
  const names = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    const path = Array.isArray(sent) ? ['tools', index] : ['tools']
    if (!isText(entry)) return { fault: faultAt(path, 'it must be the name of a tool, or a list of names') }
    const name = entry.trim()
    const fault = name === '' ? undefined : toolNameFault(name)
    if (fault !== undefined) return { fault: faultAt(path, fault) }
    if (name !== '') names.add(name)
  }
  if (names.size > AGENT_TOOLS_MAX)
    return {
      fault: faultAt(['tools'], `it has ${names.size} names; an agent may have ${AGENT_TOOLS_MAX} tools`),
    }
  return { names: [...names] }
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string'
}

function isSent(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null
}

function textFault(key: string, value: JsonValue | undefined, lengthMax: number): JsonFault | undefined {
  if (!isSent(value)) return undefined
  if (!isText(value)) return faultAt([key], 'it must be a text')
  if (value.length > lengthMax) return faultAt([key], `it may have ${lengthMax} characters`)
  return value.isWellFormed() ? undefined : faultAt([key], 'it holds half of a character (a lone surrogate)')
}

/** Checks an input schema. It is stored as fields of a document of Firestore, so it must also follow Firestore's rules. */
function inputSchemaFault(schema: JsonValue): JsonFault | undefined {
  if (!isJsonObject(schema)) return faultAt(['inputSchema'], 'it must be an object')
  const fault = measureSchema(schema)
  if (fault) return { ...fault, pointer: `/inputSchema${fault.pointer}` }
  return documentFault(schema, ['inputSchema'])
}

function documentFault(value: JsonValue, path: readonly (string | number)[]): JsonFault | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > SCHEMA_LEVELS_MAX)
    return faultAt(path, `the schema is nested deeper than ${SCHEMA_LEVELS_MAX} levels; flatten it`)
  const entries: readonly [string | number, JsonValue][] = Array.isArray(value)
    ? [...(value as readonly JsonValue[]).entries()]
    : Object.entries(value as JsonObject)
  for (const [key, child] of entries) {
    const at = [...path, key]
    if (Array.isArray(value) && Array.isArray(child))
      return faultAt(at, 'it is a list in a list, which the store cannot keep')
    if (typeof key === 'string' && (key === '' || /^__.*__$/.test(key)))
      return faultAt(path, 'it has an empty key or a key __…__, which the store cannot keep')
    const fault = documentFault(child, at)
    if (fault) return fault
  }
  return undefined
}

/** A fault as a sentence: `The body at /name: it is empty; …`. */
export function agentFaultText(what: string, { pointer, message }: JsonFault): string {
  return `${what}${pointer && ` at ${pointer}`}: ${message}.`
}
