import { isJsonObject, type JsonObject } from '@toolrack/contract'

/**
 * Keys of the original workflow engine, whose value is a tool or only its schema. The name and description stand beside the key.
 */
const FOLDS = ['defs', 'spec']

/** JSON Schema keywords. An object with one of them is a schema. An object without them can be the `properties` of a schema. */
const SCHEMA_KEYWORDS = ['$ref', '$schema', 'allOf', 'anyOf', 'oneOf']

type Path = readonly PropertyKey[]

export type Unfolded = {
  readonly tool: JsonObject
  /** The key whose content was moved, and where this content is in `tool`. Undefined if nothing was moved. */
  readonly fold?: { readonly key: string; readonly to: string }
  /** Converts a path of keys in `tool` to the path of the same value in the JSON that was sent. */
  readonly locate: (path: Path) => Path
}

/**
 * Moves the content of `defs` or `spec` into the tool. This content is a tool, the JSON Schema of the arguments, or the
 * properties of this schema. If the inner tool and the outer object have the same key, the value of the outer object counts.
 */
export function unfold(sent: JsonObject, schemaKeys: readonly string[]): Unfolded {
  const toolKeys = ['function', ...schemaKeys]
  const key = FOLDS.find((each) => isJsonObject(sent[each]))
  const { [key ?? '']: folded, ...outside } = sent
  if (key === undefined || !isJsonObject(folded) || toolKeys.some((each) => each in sent))
    return { tool: sent, locate: (path) => path }
  if (toolKeys.some((each) => isJsonObject(folded[each]))) {
    const isInside = (first: PropertyKey = ''): boolean =>
      Object.hasOwn(folded, first) && !Object.hasOwn(outside, first)
    return {
      tool: { ...folded, ...outside },
      fold: { key, to: 'function tool' },
      locate: (path) => (isInside(path[0]) ? [key, ...path] : path),
    }
  }
  if (isSchema(folded))
    return {
      tool: { ...outside, parameters: folded },
      fold: { key, to: 'parameters' },
      locate: ([first, ...rest]) => (first === 'parameters' ? [key, ...rest] : pathOf(first, rest)),
    }
  return {
    tool: { ...outside, parameters: { type: 'object', properties: folded } },
    fold: { key, to: 'parameters.properties' },
    locate: ([first, ...rest]) => (first === 'parameters' ? [key, ...rest.slice(1)] : pathOf(first, rest)),
  }
}

function isSchema(value: JsonObject): boolean {
  return (
    typeof value['type'] === 'string' ||
    isJsonObject(value['properties']) ||
    SCHEMA_KEYWORDS.some((keyword) => keyword in value)
  )
}

function pathOf(first: PropertyKey | undefined, rest: Path): Path {
  return first === undefined ? [] : [first, ...rest]
}
