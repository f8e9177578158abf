import { isJsonObject, jsonPointer, type JsonObject, type JsonValue } from '@toolrack/contract'
import { unfold } from './folded-shape.ts'

/**
 * One value of a definition that was converted: its JSON Pointer, and the value before and after. `to` is null if it was removed.
 */
export type Normalisation = { readonly pointer: string; readonly from: JsonValue; readonly to: JsonValue }

type Path = readonly PropertyKey[]

export type Reshaped = {
  readonly definition: JsonObject
  readonly normalised: readonly Normalisation[]
  /** Converts a path of keys in the stored shape to the path of the same value in the JSON that was sent. */
  readonly locate: (path: Path) => Path
}

/** Maps each key that vendors use for the schema of a tool to a name for this kind of tool. Such a tool has no key `function`. */
const SCHEMA_KEYS = new Map([
  ['parameters', 'bare OpenAI function'],
  ['inputSchema', 'MCP tool'],
  ['input_schema', 'Anthropic tool'],
  ['parametersJsonSchema', 'Gemini declaration'],
])

/**
 * The keys that can hold the name or the description of a tool. The original workflow engine also uses those after the first one.
 * The first key that has a value counts.
 */
const NAME_KEYS = ['name', 'id', 'toolName']
const DESCRIPTION_KEYS = ['description', 'desc']

/** Keys of vendors that do not belong to a definition. They are removed, and the answer reports the removal. */
const LEFT_OUT = new Set(
  ['strict', 'cache_control', 'defer_loading', 'allowed_callers', 'input_examples', 'eager_input_streaming']
    .concat(['outputSchema', 'output_schema', 'icons', 'execution', '_meta'])
    .concat(['response', 'responseJsonSchema', 'behavior']),
)

type Mutable = { [key: string]: JsonValue }

/** Reports a conversion to the author and returns `to`. */
type Note = <T extends JsonValue>(path: Path, from: JsonValue, to: T) => T

type Shaped = Omit<Reshaped, 'normalised'>

/** Converts a tool of any vendor (`SCHEMA_KEYS`) or of the original workflow engine to the stored shape. It also accepts the stored shape. */
export function reshape(sent: JsonObject): Reshaped {
  const { tool, fold, locate: locateSent } = unfold(sent, [...SCHEMA_KEYS.keys()])
  const normalised: Normalisation[] = fold
    ? [{ pointer: jsonPointer([fold.key]), from: fold.key, to: fold.to }]
    : []
  const note: Note = (path, from, to) => {
    normalised.push({ pointer: jsonPointer(locateSent(path)), from, to })
    return to
  }
  const { function: fn } = tool
  const shaped = isJsonObject(fn) ? reshapeWrapped(tool, fn, note) : reshapeFlat(tool, note)
  const { definition, locate } = withRunner(shaped, note)
  return { definition, normalised, locate: (path) => locateSent(locate(path)) }
}

/**
 * Gives a tool of a definitions file a category. If neither the tool nor its `defs` or `spec` has one, it gets the file's family.
 */
export function withFamily(tool: JsonValue, family: string): JsonValue {
  if (!isJsonObject(tool)) return tool
  const { category } = unfold(tool, [...SCHEMA_KEYS.keys()]).tool
  return (category ?? null) === null ? { ...tool, category: family } : tool
}

function reshapeWrapped(sent: JsonObject, fn: JsonObject, note: Note): Shaped {
  const tool: Mutable = { ...sent }
  const name = taken(tool, NAME_KEYS, fn['name'] === undefined ? 'function.name' : null, note)
  const hasDescription = fn['description'] !== undefined
  const description = taken(tool, DESCRIPTION_KEYS, hasDescription ? null : 'function.description', note)
  const kept = keptOf({ ...name.value, ...description.value, ...fn }, ['function'], note)
  const definition: Mutable = { ...tool, function: completed(kept, ['function'], note) }
  if (sent['type'] === undefined) definition['type'] = note(['type'], null, 'function')
  return {
    definition,
    locate(path) {
      const [first, second] = path
      if (first !== 'function') return path
      if (second === 'name' && fn['name'] === undefined && name.key !== undefined) return [name.key]
      if (second === 'description' && !hasDescription && description.key !== undefined)
        return [description.key]
      return path
    },
  }
}

function reshapeFlat(sent: JsonObject, note: Note): Shaped {
  const schemaKey = [...SCHEMA_KEYS.keys()].find((key) => sent[key] !== undefined) ?? 'parameters'
  const tool: Mutable = { ...keptOf(sent, [], note) }
  note([], SCHEMA_KEYS.get(schemaKey) ?? 'function', 'function tool')
  const name = taken(tool, NAME_KEYS, 'function.name', note)
  const description = taken(tool, DESCRIPTION_KEYS, 'function.description', note)
  const { type, title, [schemaKey]: parameters, ...rest } = tool
  const fn = { ...name.value, ...description.value, ...(parameters !== undefined && { parameters }) }
  const isFunction = type === undefined || (type === 'custom' && schemaKey === 'input_schema')
  const named = isFunction ? 'function' : type
  const definition: Mutable = { type: named, function: completed(fn, [], note), ...rest }
  const isMoved = title !== undefined && moveTitle(definition, title, note)
  const keys = { name: name.key, description: description.key, parameters: schemaKey }
  return {
    definition,
    locate(path) {
      const [first, second, ...rest] = path
      if (isMoved && first === 'annotations' && second === 'title') return ['title']
      if (first !== 'function') return path
      if (second === undefined) return []
      return [keys[second as keyof typeof keys] ?? second, ...rest]
    },
  }
}

/**
 * Replaces a `workflowName` beside the `runner` by a runner of the kind `workflow`. If the tool has a `runner` already, only
 * removes `workflowName`.
 */
function withRunner({ definition: shaped, locate }: Shaped, note: Note): Shaped {
  const { workflowName, ...definition } = shaped
  if (workflowName === undefined) return { definition: shaped, locate }
  const isMoved = definition['runner'] === undefined
  note(['workflowName'], 'workflowName', isMoved ? 'runner.workflowName' : null)
  if (!isMoved) return { definition, locate }
  return {
    definition: { ...definition, runner: { kind: 'workflow', workflowName } },
    locate: (path) => (path[0] === 'runner' ? ['workflowName'] : locate(path)),
  }
}

/**
 * Removes `keys` from the tool. Returns the first of them that has a value, and an object with this value under the name of
 * `keys[0]`. Null and an empty text count as values only if no key has another value. Reports to `note` the keys that are
 * dropped. It also reports where the value goes, unless the value keeps its own name in a flat tool.
 */
function taken(tool: Mutable, keys: readonly string[], to: string | null, note: Note) {
  const [own = ''] = keys
  const present = keys.filter((key) => tool[key] !== undefined)
  const key = present.find((each) => tool[each] !== null && tool[each] !== '') ?? present[0]
  const value = key === undefined || to === null ? {} : { [own]: tool[key] as JsonValue }
  const isFlat = !('function' in tool)
  for (const each of present) {
    if (each !== key || each !== own || !isFlat) note([each], each, each === key ? to : null)
    delete tool[each]
  }
  return { key, value }
}

/** Adds an empty `description` and empty `parameters` if they are missing. The answer reports the additions. */
function completed(fn: JsonObject, at: Path, note: Note): JsonObject {
  const empty = { type: 'object', properties: {}, required: [] }
  const { description, parameters } = fn
  return {
    ...fn,
    ...(description === undefined && { description: note([...at, 'description'], null, '') }),
    ...(parameters === undefined && { parameters: note([...at, 'parameters'], null, empty) }),
  }
}

function moveTitle(definition: Mutable, title: JsonValue, note: Note): boolean {
  const { annotations = {} } = definition
  const isFree = isJsonObject(annotations) && annotations['title'] === undefined
  if (isFree) definition['annotations'] = { ...annotations, title }
  note(['title'], 'title', isFree ? 'annotations.title' : null)
  return isFree
}

function keptOf(object: JsonObject, at: Path, note: Note): JsonObject {
  for (const key of Object.keys(object)) if (LEFT_OUT.has(key)) note([...at, key], key, null)
  return Object.fromEntries(Object.entries(object).filter(([key]) => !LEFT_OUT.has(key)))
}
