import { isJsonObject, type JsonObject, type JsonValue } from '@toolrack/contract'

/** One place of a definition that was converted. `to` is null if the value was removed. */
export type Normalisation = { readonly pointer: string; readonly from: JsonValue; readonly to: JsonValue }

type Path = readonly PropertyKey[]

export type Reshaped = {
  readonly definition: JsonObject
  readonly normalised: readonly Normalisation[]
  /** Converts a path in the stored shape to the path in the JSON that was sent. */
  readonly locate: (path: Path) => Path
}

/** The keys that vendors use for the schema of a flat tool (one without the key `function`), and a name for each kind of tool. */
const SCHEMA_KEYS = new Map([
  ['parameters', 'bare OpenAI function'],
  ['inputSchema', 'MCP tool'],
  ['input_schema', 'Anthropic tool'],
  ['parametersJsonSchema', 'Gemini declaration'],
])

/** Keys of vendors that are not a part of a definition. They are removed, and the answer reports the removal. */
const LEFT_OUT = new Set(
  ['strict', 'cache_control', 'defer_loading', 'allowed_callers', 'input_examples', 'eager_input_streaming']
    .concat(['outputSchema', 'output_schema', 'icons', 'execution', '_meta'])
    .concat(['response', 'responseJsonSchema', 'behavior']),
)

type Mutable = { [key: string]: JsonValue }

/** Records a normalisation and returns `to`. */
type Note = <T extends JsonValue>(pointer: string, from: JsonValue, to: T) => T

/** Converts a tool of any vendor (`SCHEMA_KEYS`) to the stored shape. It also accepts the stored shape. */
export function reshape(sent: JsonObject): Reshaped {
  const normalised: Normalisation[] = []
  const note: Note = (pointer, from, to) => {
    normalised.push({ pointer, from, to })
    return to
  }
  const { function: fn } = sent
  return { ...(isJsonObject(fn) ? reshapeWrapped(sent, fn, note) : reshapeFlat(sent, note)), normalised }
}

/** A tool of a definitions file. If the tool has no category, the file's family becomes its category. */
export function withFamily(tool: JsonValue, family: string): JsonValue {
  return isJsonObject(tool) ? { ...tool, category: tool['category'] ?? family } : tool
}

function reshapeWrapped(sent: JsonObject, fn: JsonObject, note: Note): Omit<Reshaped, 'normalised'> {
  const { workflowName, ...rest } = sent
  const kept = keptOf(fn, '/function', note)
  const definition: Mutable = { ...rest, function: completed(kept, '/function', note) }
  if (sent['type'] === undefined) definition['type'] = note('/type', null, 'function')
  const isMoved = workflowName !== undefined && sent['runner'] === undefined
  if (isMoved) definition['runner'] = { kind: 'workflow', workflowName }
  if (workflowName !== undefined)
    note('/workflowName', 'workflowName', isMoved ? 'runner.workflowName' : null)
  return { definition, locate: (path) => (isMoved && path[0] === 'runner' ? ['workflowName'] : path) }
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
  const named = isFunction ? 'function' : type
  const definition: Mutable = { type: named, function: completed(fn, '', note), ...rest }
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

/** Adds an empty `description` and empty `parameters` if they are missing. The answer reports the additions. */
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
