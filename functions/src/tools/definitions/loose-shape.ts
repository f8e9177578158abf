import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'

/** One place of a definition that was read as something else. `to` is null if it has no place in a definition and was left out. */
export type Normalisation = { readonly pointer: string; readonly from: JsonValue; readonly to: JsonValue }

type Path = readonly PropertyKey[]

export type Reshaped = {
  readonly definition: JsonObject
  readonly normalised: readonly Normalisation[]
  /** The path in what was sent for a path in the stored shape. */
  readonly locate: (path: Path) => Path
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
  ['strict', 'cache_control', 'defer_loading', 'allowed_callers', 'input_examples', 'eager_input_streaming']
    .concat(['outputSchema', 'output_schema', 'icons', 'execution', '_meta'])
    .concat(['response', 'responseJsonSchema', 'behavior']),
)

type Mutable = { [key: string]: JsonValue }

/** Notes a normalisation, and returns what was read. */
type Note = <T extends JsonValue>(pointer: string, from: JsonValue, to: T) => T

/** Reads the shapes that tools come in: ours, a bare OpenAI function, an MCP tool, an Anthropic tool, a Gemini declaration. */
export function reshape(sent: JsonObject): Reshaped {
  const normalised: Normalisation[] = []
  const note: Note = (pointer, from, to) => {
    normalised.push({ pointer, from, to })
    return to
  }
  const { function: fn } = sent
  return { ...(isJsonObject(fn) ? reshapeWrapped(sent, fn, note) : reshapeFlat(sent, note)), normalised }
}

/** A tool of a definitions file. Its category is the file's family unless it names one. */
export function withFamily(tool: JsonValue, family: string): JsonValue {
  return isJsonObject(tool) ? { ...tool, category: tool['category'] ?? family } : tool
}

function reshapeWrapped(sent: JsonObject, fn: JsonObject, note: Note): Omit<Reshaped, 'normalised'> {
  const { workflowName, ...rest } = sent
  const definition: Mutable = {
    ...rest,
    function: completed(keptOf(fn, '/function', note), '/function', note),
  }
  if (sent['type'] === undefined) definition['type'] = note('/type', null, 'function')
  const isMoved = workflowName !== undefined && sent['runner'] === undefined
  if (isMoved) definition['runner'] = { kind: 'workflow', workflowName }
  if (workflowName !== undefined)
    note('/workflowName', 'workflowName', isMoved ? 'runner.workflowName' : null)
  return {
    definition,
    locate: (path) => (isMoved && path[0] === 'runner' ? ['workflowName'] : path),
  }
}

function reshapeFlat(sent: JsonObject, note: Note): Omit<Reshaped, 'normalised'> {
  const schemaKey = [...SCHEMA_KEYS.keys()].find((key) => sent[key] !== undefined) ?? 'parameters'
  const { type, name, description, title, [schemaKey]: parameters, ...rest } = keptOf(sent, '', note)
  note('', SCHEMA_KEYS.get(schemaKey) ?? 'function', 'function tool')
  const fn = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
  }
  const isFunction = type === undefined || (type === 'custom' && schemaKey === 'input_schema')
  const definition: Mutable = {
    type: isFunction ? 'function' : type,
    function: completed(fn, '', note),
    ...rest,
  }
  const isMoved = title !== undefined && moveTitle(definition, title, note)
  return {
    definition,
    locate(path) {
      const [first, second, ...rest] = path
      if (isMoved && first === 'annotations' && second === 'title') return ['title']
      if (first !== 'function') return path
      if (second === undefined) return []
      return [second === 'parameters' ? schemaKey : second, ...rest]
    },
  }
}

/** A model needs no description and a tool no arguments. Where they are missing they get their empty form, and the answer says so. */
function completed(fn: JsonObject, at: string, note: Note): JsonObject {
  const empty = { type: 'object', properties: {}, required: [] }
  const { description, parameters } = fn
  return {
    ...fn,
    ...(description === undefined && { description: note(`${at}/description`, null, '') }),
    ...(parameters === undefined && { parameters: note(`${at}/parameters`, null, empty) }),
  }
}

function moveTitle(definition: Mutable, title: JsonValue, note: Note): boolean {
  const { annotations = {} } = definition
  const isFree = isJsonObject(annotations) && annotations['title'] === undefined
  if (isFree) definition['annotations'] = { ...annotations, title }
  note('/title', 'title', isFree ? 'annotations.title' : null)
  return isFree
}

function keptOf(object: JsonObject, at: string, note: Note): JsonObject {
  for (const key of Object.keys(object)) if (LEFT_OUT.has(key)) note(`${at}/${key}`, key, null)
  return Object.fromEntries(Object.entries(object).filter(([key]) => !LEFT_OUT.has(key)))
}
