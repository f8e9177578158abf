import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject } from '@toolrack/contract'
import type { Normalisation } from './normalisation.ts'

/** A definition in the stored shape, what was read as something else, and where each part of it was sent. */
export type Reshaped = {
  readonly definition: JsonObject
  readonly normalised: readonly Normalisation[]
  /** The path in what was sent for a path in the stored shape. */
  readonly locate: (path: readonly PropertyKey[]) => readonly PropertyKey[]
}

/** The keys under which vendors put the schema of a flat tool, and whose tool that is. */
const SCHEMA_KEYS = new Map([
  ['parameters', 'bare OpenAI function'],
  ['inputSchema', 'MCP tool'],
  ['input_schema', 'Anthropic tool'],
  ['parametersJsonSchema', 'Gemini declaration'],
])

/** Vendors' keys that say how to send a tool, not what it is. They are left out, and the answer says so. */
const LEFT_OUT = new Set(
  [
    'strict',
    'cache_control',
    'defer_loading',
    'allowed_callers',
    'input_examples',
    'eager_input_streaming',
  ].concat([
    'outputSchema',
    'output_schema',
    'icons',
    'execution',
    '_meta',
    'response',
    'responseJsonSchema',
    'behavior',
  ]),
)

/** Reads the shapes that tools come in: ours, a bare OpenAI function, an MCP tool, an Anthropic tool, a Gemini declaration. */
export function reshape(sent: JsonObject): Reshaped {
  return isJsonObject(sent['function']) ? reshapeWrapped(sent, sent['function']) : reshapeFlat(sent)
}

function reshapeWrapped(sent: JsonObject, fn: JsonObject): Reshaped {
  const normalised: Normalisation[] = []
  const { workflowName, ...rest } = sent
  const definition: Mutable = {
    ...rest,
    function: completeFunction(without(fn, '/function', normalised), '/function', normalised),
  }
  if (sent['type'] === undefined) definition['type'] = note(normalised, '/type', null, 'function')
  const isMoved = workflowName !== undefined && sent['runner'] === undefined
  if (isMoved) {
    definition['runner'] = { kind: 'workflow', workflowName }
    note(normalised, '/workflowName', 'workflowName', 'runner.workflowName')
  } else if (workflowName !== undefined) note(normalised, '/workflowName', 'workflowName', null)
  return {
    definition,
    normalised,
    locate: (path) => (isMoved && path[0] === 'runner' ? ['workflowName'] : path),
  }
}

function reshapeFlat(sent: JsonObject): Reshaped {
  const normalised: Normalisation[] = []
  const schemaKey = [...SCHEMA_KEYS.keys()].find((key) => sent[key] !== undefined) ?? 'parameters'
  const { type, name, description, title, [schemaKey]: parameters, ...rest } = without(sent, '', normalised)
  note(normalised, '', SCHEMA_KEYS.get(schemaKey) ?? 'function', 'function tool')
  const fn: Mutable = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
  }
  const definition: Mutable = {
    type: type === undefined || (type === 'custom' && schemaKey === 'input_schema') ? 'function' : type,
    function: completeFunction(fn, '', normalised),
    ...rest,
  }
  const isMoved = title !== undefined && moveTitle(definition, title, normalised)
  return {
    definition,
    normalised,
    locate: (path) =>
      isMoved && path[0] === 'annotations' && path[1] === 'title' ? ['title'] : locateFlat(path, schemaKey),
  }
}

/** A model can do without a description and a tool without arguments: both get their empty form, and the answer says so. */
function completeFunction(fn: JsonObject, at: string, normalised: Normalisation[]): JsonObject {
  const complete: Mutable = { ...fn }
  if (fn['description'] === undefined)
    complete['description'] = note(normalised, `${at}/description`, null, '')
  if (fn['parameters'] === undefined) {
    const empty = { type: 'object', properties: {}, required: [] }
    complete['parameters'] = note(normalised, `${at}/parameters`, null, empty)
  }
  return complete
}

function moveTitle(definition: Mutable, title: JsonValue, normalised: Normalisation[]): boolean {
  const annotations = definition['annotations'] ?? {}
  const free = isJsonObject(annotations) && annotations['title'] === undefined
  if (free) definition['annotations'] = { ...annotations, title }
  note(normalised, '/title', 'title', free ? 'annotations.title' : null)
  return free
}

function without(object: JsonObject, at: string, normalised: Normalisation[]): JsonObject {
  const kept: Mutable = {}
  for (const [key, value] of Object.entries(object)) {
    if (LEFT_OUT.has(key)) note(normalised, `${at}/${key}`, key, null)
    else kept[key] = value
  }
  return kept
}

function locateFlat(path: readonly PropertyKey[], schemaKey: string): readonly PropertyKey[] {
  const [first, second, ...rest] = path
  if (first !== 'function') return path
  if (second === undefined) return []
  return second === 'parameters' ? [schemaKey, ...rest] : [second, ...rest]
}

function note<T extends JsonValue>(normalised: Normalisation[], pointer: string, from: JsonValue, to: T): T {
  normalised.push({ pointer, from, to })
  return to
}

type Mutable = { [key: string]: JsonValue }
